import acpella
from acpella.schema import EmbeddedResource, ImageContent, ResourceLink, TextContent

agent = acpella.Agent("attachments", version="1.0", images=True)


@agent.on_prompt
async def reply(turn):
    for block in turn.prompt:
        match block:
            case TextContent():
                yield f"A text of {len(block.text)} characters.\n"
            case ImageContent():
                yield f"An image, {block.mime_type}.\n"
            case ResourceLink():
                yield f"A link to {block.name}.\n"
            case EmbeddedResource():
                yield f"The file {block.resource.uri}.\n"
            case _:
                yield "Something that this agent does not know.\n"


if __name__ == "__main__":
    agent.run()
