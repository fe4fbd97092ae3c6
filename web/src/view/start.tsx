// Before there is a conversation: logging in, and beginning one.
import { useState } from "../libraries";
import { connection, entries, may, open, prompt, type Talk } from "../store";
import { now } from "../text/clock";
import { ago, homely } from "../text/times";
import { plain } from "../text/visible";
import { asObj, asText } from "../wire/types";
import { Icon } from "./icons";
import { CopyButton, MOD, StateGlyph } from "./parts";
import { sorted, timeOf, titleOf } from "./sessions";
import { causeOf } from "./thread";

export function Login({ why }: { why: string }) {
  const [token, setToken] = useState("");
  return (
    <main class="login">
      <form
        class="login-box"
        onSubmit={(event) => {
          event.preventDefault();
          if (token.trim() !== "") connection.logIn(token);
        }}
      >
        <span class="brand"><Icon name="logo" size={22} />acpella</span>
        <h1>Log in</h1>
        {why !== "" && <p class="note warn" role="alert"><Icon name="alert" size={14} /><span>{plain(why)}</span></p>}
        <label for="token">Your token for this server</label>
        <input id="token" class="field mono" type="password" autoComplete="current-password" value={token} onInput={(event) => setToken(event.currentTarget.value)} />
        <button type="submit" class="btn primary">Log in</button>
        <p class="hint">On your own machine, <code>acpella web</code> opens this page with a link that works once. On a team's server, whoever runs it makes tokens with <code>acpella tokens add</code>. The token stays in this tab.</p>
      </form>
    </main>
  );
}

const TRIES = ["read README.md", "search for TODO", "run ls -la", "plan: look, think, act"];

export function Start({ talk }: { talk: Talk | null }) {
  const welcome = connection.welcome.value;
  const link = connection.link.value;
  if (welcome === null) return <div class="log"><div class="hello">{link.state === "lost" ? <NotYet why={link.why} stderr={link.stderr} /> : <p class="dim loading"><StateGlyph state="running" />Starting the agent</p>}</div></div>;
  const info = welcome.agentInfo;
  const folder = welcome.cwd.split("/").at(-1) || welcome.cwd || "this directory";
  const isBuiltIn = asText(info.name) === "coder" || welcome.agent === "coder";
  const capabilities = welcome.agentCapabilities;
  const images = asObj(capabilities.promptCapabilities).image === true;
  const offers = [
    images && "Pictures",
    asObj(capabilities.promptCapabilities).audio === true && "Sound",
    capabilities.loadSession === true && "Sessions open again",
    asObj(capabilities.sessionCapabilities).fork !== undefined && "Forks",
  ].filter((one): one is string => one !== false);
  const name = plain(asText(info.title) || welcome.agent);
  return (
    <div class="log">
      <div class="hello">
        <h1>{talk === null ? `Start a session in ${plain(folder)}` : "What should be done?"}</h1>
        <p>{plain(welcome.agent)} works in <span class="mono">{plain(homely(welcome.cwd))}</span>.</p>
        <div class="hello-cols">
          <div>
            <h2>{welcome.others.length > 0 ? "Agents" : "Agent"}</h2>
            <ul class="agents">
              <li class="agent" aria-current="true">
                <span class="tile accent"><Icon name={isBuiltIn ? "logo" : "execute"} size={20} /></span>
                <span>
                  <b>{name}</b>{asText(info.version) !== "" && <span class="dim"> {plain(asText(info.version))}</span>}
                  <small>{isBuiltIn ? "Built in. Reads, searches, edits and runs." : offers.join(" · ") || "Ready to talk."}</small>
                </span>
                <span class="badge add">ready</span>
              </li>
              {welcome.others.map((one) => <Other key={one.name} name={one.name} state={one.state} />)}
            </ul>
            {isBuiltIn && may("prompt") && (
              <>
                <h2 class="gap-t">Try it now, without a key</h2>
                <div class="try">{TRIES.map((one) => <button key={one} type="button" class="btn" onClick={() => void prompt([{ type: "text", text: one }])}>{one}</button>)}</div>
              </>
            )}
            <Recent />
            {!may("prompt") && <p class="note gap-t"><Icon name="eye" size={14} /><span>Your token lets you watch. Choose a session in the list.</span></p>}
          </div>
          {isBuiltIn ? <Models keys={welcome.keys} /> : <Hints images={images} />}
        </div>
      </div>
    </div>
  );
}

/** The agent, or the server, was not there from the beginning. */
function NotYet({ why, stderr }: { why: string; stderr: string }) {
  return (
    <article class="note-card err">
      <header><Icon name="alert" /><span>The agent does not start</span></header>
      <p>{causeOf(why)}</p>
      {stderr !== "" && <pre class="raw" tabIndex={0}>{stderr.trimEnd()}</pre>}
      <p class="after">Mend what it says, then try again. The page itself tries now and then, too.</p>
      <footer><button type="button" class="btn" onClick={() => connection.retry()}><Icon name="retry" size={14} />Try again</button></footer>
    </article>
  );
}

const STATES = { settings: "of your settings", installed: "installed", missing: "not installed" };

/** This page starts nothing: it says what to type. */
function Other({ name, state }: { name: string; state: keyof typeof STATES }) {
  const command = `acpella web -a ${plain(name)}`;
  return (
    <li class="agent">
      <span class="tile plain"><Icon name="execute" size={18} /></span>
      <span><b>{plain(name)}</b><small><code>{command}</code></small></span>
      <span class="do-copy"><span class={state === "missing" ? "badge" : "badge add"}>{STATES[state]}</span><CopyButton text={() => command} label={`Copy ${command}`} /></span>
    </li>
  );
}

/** What the input understands. */
function Hints({ images }: { images: boolean }) {
  const hints: [string, string][] = [["/", "commands of the agent"], ["@", "a file of the directory"], ["↵", "send; ⇧ ↵ begins a new line"], ["Esc Esc", "stop the agent"], [`${MOD} K`, "everything else"]];
  return (
    <div class="models-box">
      <h2>Good to know</h2>
      <dl class="hints">{hints.map(([key, words]) => <div key={key}><dt>{key.split(" ").map((one, index) => <kbd key={index}>{one}</kbd>)}</dt><dd>{words}</dd></div>)}</dl>
      <p class="dim">{images && "Paste or drop a picture to send it along. "}A prompt that you write while the agent works waits its turn. Other people can watch a session, or work along: <b>Invite</b> beside it.</p>
    </div>
  );
}

function Recent() {
  const recent = sorted(entries.value.values()).slice(0, 4);
  if (recent.length === 0) return null;
  return (
    <>
      <h2 class="gap-t">Go on with</h2>
      <div class="agents recent">
        {recent.map((entry) => (
          <button key={entry.sessionId} type="button" class="session" onClick={() => void open(entry.sessionId)}>
            <StateGlyph state={entry.state} />
            <b>{titleOf(entry)}</b>
            <time>{timeOf(entry) === 0 ? "" : ago(timeOf(entry), now())}</time>
          </button>
        ))}
      </div>
    </>
  );
}

const KEYS = [["Anthropic", "ANTHROPIC_API_KEY"], ["OpenAI", "OPENAI_API_KEY"], ["Google", "GEMINI_API_KEY"], ["OpenRouter", "OPENROUTER_API_KEY"]] as const;
const COMMANDS = [["then start again", "export ANTHROPIC_API_KEY=…\nacpella web"], ["or a model on this machine", "ACPELLA_MODEL=ollama:qwen3 acpella web"]] as const;

/** How the built-in agent gets a model. This page never asks for a key. */
function Models({ keys }: { keys: string[] }) {
  return (
    <div class="models-box">
      <h2>Connect a real model</h2>
      <p class="dim">The agent takes its key from the environment when acpella starts. Keys are never asked for here, and never stored.</p>
      <table class="models"><tbody>{KEYS.map(([name, variable]) => <tr key={name}><td>{name}</td><td><code>{variable}</code></td><td>{keys.includes(variable) ? <span class="ok">set</span> : "not set"}</td></tr>)}</tbody></table>
      {COMMANDS.map(([words, command]) => (
        <div key={words} class="code">
          <div class="code-head"><span>{words}</span><span class="grow" /><CopyButton text={() => command} /></div>
          <pre tabIndex={0}>{command}</pre>
        </div>
      ))}
    </div>
  );
}
