// Before there is a conversation: logging in, and beginning one.
import { useState } from "../libraries";
import { connection, entries, may, open, prompt, type Talk } from "../store";
import { now } from "../text/clock";
import { ago, homely } from "../text/times";
import { plain } from "../text/visible";
import { asObj, asText } from "../wire/types";
import { Icon } from "./icons";
import { CopyButton, StateGlyph } from "./parts";
import { sorted, timeOf, titleOf } from "./sessions";

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
  if (welcome === null) return <div class="log"><div class="hello"><p class="dim">Connecting</p></div></div>;
  const info = welcome.agentInfo;
  const folder = welcome.cwd.split("/").at(-1) || welcome.cwd || "this directory";
  const isBuiltIn = asText(info.name) === "coder" || welcome.agent === "coder";
  const capabilities = welcome.agentCapabilities;
  const offers = [
    asObj(capabilities.promptCapabilities).image === true && "pictures",
    asObj(capabilities.promptCapabilities).audio === true && "sound",
    capabilities.loadSession === true && "sessions that can be opened again",
    asObj(capabilities.sessionCapabilities).fork !== undefined && "forks",
  ].filter((one): one is string => one !== false);
  return (
    <div class="log">
      <div class="hello">
        <h1>{talk === null ? `Start a session in ${plain(folder)}` : "What should be done?"}</h1>
        <p>{plain(welcome.agent)} works in <span class="mono">{plain(homely(welcome.cwd))}</span>. Its mode says what it may do without asking.</p>
        <div class="hello-cols">
        <div>
        <div class="agents">
          <div class="agent">
            <span class="tile accent"><Icon name={isBuiltIn ? "logo" : "execute"} size={20} /></span>
            <span>
              <b>{plain(asText(info.title) || welcome.agent)}</b>
              <small>{[asText(info.version) && `Version ${plain(asText(info.version))}.`, offers.length > 0 && `Takes ${offers.join(", ")}.`].filter(Boolean).join(" ") || "Ready."}</small>
            </span>
            <span class="badge add">ready</span>
          </div>
        </div>
        {isBuiltIn && may("prompt") && (
          <>
            <h2 class="gap-t">Try it now, without a key</h2>
            <div class="try">{TRIES.map((one) => <button key={one} type="button" class="btn" onClick={() => void prompt([{ type: "text", text: one }])}>{one}</button>)}</div>
          </>
        )}
        <Recent />
        </div>
        {isBuiltIn && <Models />}
        </div>
        {!may("prompt") && <p class="note"><Icon name="eye" size={14} /><span>Your token lets you watch. Choose a session in the list.</span></p>}
      </div>
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
const LOCAL = "ACPELLA_MODEL=ollama:qwen3 acpella web";

/** How the built-in agent gets a model. This page never asks for a key. */
function Models() {
  return (
    <div class="models-box">
      <h2>Connect a real model</h2>
      <p class="dim">The agent takes its key from the environment when acpella starts. Keys are never asked for here, and never stored.</p>
      <table class="models"><tbody>{KEYS.map(([name, variable]) => <tr key={name}><td>{name}</td><td><code>{variable}</code></td></tr>)}</tbody></table>
      <div class="code">
        <div class="code-head"><span>or a model on this machine</span><span class="grow" /><CopyButton text={() => LOCAL} /></div>
        <pre>{LOCAL}</pre>
      </div>
    </div>
  );
}
