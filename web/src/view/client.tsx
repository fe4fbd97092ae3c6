// What the client of this page declares to the agent: an agent's author switches it off and sees what happens.
import { useState } from "../libraries";
import { connection, switchClient } from "../store";
import { plain } from "../text/visible";
import { Icon } from "./icons";

export function Client() {
  const [busy, setBusy] = useState("");
  const switches = connection.welcome.value?.switches ?? [];
  if (switches.length === 0) return null;
  const off = switches.filter((one) => !one.on);
  const flip = async (name: string, on: boolean): Promise<void> => {
    setBusy(name);
    await switchClient(name, on);
    setBusy("");
  };
  return (
    <details class="client" data-client>
      <summary>
        <Icon name="plug" size={14} />
        <b>Client</b>
        <span class="cut grow">{off.length === 0 ? "can do everything" : `without ${off.map((one) => one.name).join(", ")}`}</span>
        <Icon name="down" size={12} />
      </summary>
      <fieldset disabled={busy !== ""} aria-busy={busy !== ""}>
        <legend class="hide">What the client can do</legend>
        {switches.map((one) => (
          <label key={one.name} class="pick"><input type="checkbox" checked={one.on !== (busy === one.name)} onChange={(event) => void flip(one.name, event.currentTarget.checked)} /><span>{plain(one.words)} <code>{one.name}</code></span></label>
        ))}
        <p class="dim">The agent is started again at each change: a client says once what it can do.</p>
      </fieldset>
    </details>
  );
}
