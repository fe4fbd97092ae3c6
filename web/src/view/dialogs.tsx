// Small dialogs: rename, invite, delete, the changes of a session, the keys.
import { useState } from "../libraries";
import { diffsOf } from "../fold/fold";
import { connection, current, currentTalk, entries, remove, rename, tell } from "../store";
import { shortPath } from "../text/times";
import { asText } from "../wire/types";
import { KEYS } from "./actions";
import { Diff } from "./diff";
import { Icon } from "./icons";
import { panels } from "./panels";
import { Keys, Modal } from "./parts";
import { titleOf } from "./sessions";

export function Dialogs() {
  return (
    <>
      {panels.keys.value && <KeyList />}
      {panels.renaming.value && <Rename />}
      {panels.inviting.value && <Invite />}
      {panels.deleting.value && <Delete />}
      {panels.review.value && <Review />}
    </>
  );
}

function KeyList() {
  return (
    <Modal label="Keys" class="keys-dialog" onClose={() => (panels.keys.value = false)}>
      <div class="keys">
        {KEYS.map(([title, keys]) => (
          <div key={title}>
            <h2>{title}</h2>
            <ul>{keys.map(([word, combination]) => <li key={word}>{word}<Keys keys={combination} /></li>)}</ul>
          </div>
        ))}
      </div>
    </Modal>
  );
}

function Rename() {
  const id = current.value ?? "";
  const [title, setTitle] = useState(titleOf(entries.value.get(id)));
  const close = (): void => {
    panels.renaming.value = false;
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    void rename(id, title);
    close();
  };
  return (
    <Modal label="Rename the session" class="small" onClose={close}>
      <form onSubmit={submit} class="dialog-form">
        <label for="new-title">Name of the session</label>
        <input id="new-title" class="field" value={title} maxLength={200} onInput={(event) => setTitle(event.currentTarget.value)} />
        <footer class="row-end"><button type="button" class="btn quiet" onClick={close}>Cancel</button><button type="submit" class="btn primary">Rename</button></footer>
      </form>
    </Modal>
  );
}

function Invite() {
  const [user, setUser] = useState("");
  const [role, setRole] = useState("observer");
  const [done, setDone] = useState("");
  const close = (): void => {
    panels.inviting.value = false;
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await connection.request("_acpella/session/invite", { sessionId: current.value ?? "", user: user.trim(), role });
      setDone(user.trim());
      setUser("");
    } catch (error) {
      tell(error);
    }
  };
  return (
    <Modal label="Invite somebody" class="small" onClose={close}>
      <form onSubmit={(event) => void submit(event)} class="dialog-form">
        <label for="invited">User name on this server</label>
        <input id="invited" class="field" value={user} required autoComplete="off" onInput={(event) => setUser(event.currentTarget.value)} />
        <p class="hint">The name that stands in the server's token file. The session then shows in their list.</p>
        <fieldset>
          <legend>They may</legend>
          {([["observer", "watch"], ["controller", "prompt, and approve if their token allows it"]] as const).map(([value, words]) => (
            <label key={value} class="pick"><input type="radio" name="role" checked={role === value} onChange={() => setRole(value)} /><span>{words}</span></label>
          ))}
        </fieldset>
        {done !== "" && <p class="hint" role="status">{done} is invited.</p>}
        <footer class="row-end"><button type="button" class="btn quiet" onClick={close}>Close</button><button type="submit" class="btn primary">Invite</button></footer>
      </form>
    </Modal>
  );
}

function Delete() {
  const id = current.value ?? "";
  const close = (): void => {
    panels.deleting.value = false;
  };
  return (
    <Modal label="Delete the session" class="small" onClose={close}>
      <div class="dialog-form">
        <h2>Delete “{titleOf(entries.value.get(id))}”?</h2>
        <p class="dim">The agent deletes the conversation. Files that it changed stay as they are.</p>
        <footer class="row-end">
          <button type="button" class="btn quiet" onClick={close}>Keep it</button>
          <button type="button" class="btn danger" onClick={() => {
            close();
            void remove(id);
          }}><Icon name="delete" size={14} />Delete</button>
        </footer>
      </div>
    </Modal>
  );
}

function Review() {
  const talk = currentTalk.value;
  const [sides, setSides] = useState(innerWidth > 1000);
  const close = (): void => {
    panels.review.value = false;
  };
  if (talk === null) return null;
  talk.version.value;
  const cwd = entries.value.get(talk.id)?.cwd ?? "";
  const diffs = talk.conversation.items.flatMap((item) => (item.kind === "tool" && item.status === "completed" ? diffsOf(item) : []));
  return (
    <Modal label="Changes of this session" class="wide" onClose={close}>
      <header class="dialog-head plain-head">
        <h2>Changes of this session</h2>
        <span class="tabs" role="group" aria-label="Layout">
          <button type="button" aria-pressed={!sides} onClick={() => setSides(false)}>Unified</button>
          <button type="button" aria-pressed={sides} onClick={() => setSides(true)}>Split</button>
        </span>
        <button type="button" class="icon" aria-label="Close" onClick={close}><Icon name="cross" /></button>
      </header>
      <div class="dialog-body">
        {diffs.length === 0 && <p class="dim">Nothing was changed through the agent's edits.</p>}
        {diffs.map((diff, index) => (
          <div key={index} class="what">
            <div class="file-head mono">{shortPath(asText(diff.path), cwd)}</div>
            <Diff path={asText(diff.path)} before={asText(diff.oldText)} after={asText(diff.newText)} sides={sides} />
          </div>
        ))}
      </div>
    </Modal>
  );
}
