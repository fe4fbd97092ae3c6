import asyncio


def test_it_survives_a_bad_client(acp_client, tmp_path):
    async def conversation():
        async with acp_client(answers={"session/request_permission": None}) as client:
            await client.write("this is not JSON\n")
            await client.initialize()
            session = await client.new_session(str(tmp_path))
            talk = await client.prompt(session, "kiwi", cancel_after=1)
            assert talk.stop_reason == "cancelled"

    asyncio.run(conversation())
