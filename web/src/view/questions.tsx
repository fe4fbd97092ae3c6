// What the agent asks a person: permissions, forms, pages to open. Nothing here begs for a yes.
import { signal, useEffect, useLayoutEffect, useMemo, useRef, useState, type ComponentChildren } from "../libraries";
import { count } from "../fold/changes";
import { diffsOf, untold, wholeCommand } from "../fold/fold";
import type { Question, ToolItem } from "../fold/model";
import { answer, connection, entries, may, type Talk } from "../store";
import { choiceText } from "../text/choice";
import { linkOf } from "../text/links";
import { duration, shortPath } from "../text/times";
import { countHidden, plain, revealed } from "../text/visible";
import { asList, asObj, asText, isObj, type Json, type Obj } from "../wire/types";
import { ContentBlock, Raw } from "./content";
import { Diff } from "./diff";
import { Icon, kindIcon, type IconName } from "./icons";
import { Avatar, Modal, useNow, Visible } from "./parts";
import { PlusMinus } from "./tool";

/** Milliseconds before an answer counts, so that nobody agrees to what just appeared under the finger. */
const ARMED_AFTER = 400;

/** Questions that a person put aside, by session and number. */
export const later = signal<ReadonlySet<string>>(new Set());
const keyOf = (talk: Talk, question: Question): string => `${talk.id}/${talk.epoch}/${question.number}`;

export function Questions({ talk }: { talk: Talk }) {
  talk.version.value;
  const waiting = [...talk.conversation.questions.values()];
  const canAnswer = may("approve") && talk.role.value === "controller";
  const question = waiting.find((one) => !later.value.has(keyOf(talk, one)));
  if (question === undefined || !canAnswer) return null;
  const putAside = (): void => {
    later.value = new Set([...later.value, keyOf(talk, question)]);
  };
  const props = { talk, question, putAside, more: waiting.length - 1 };
  if (question.method === "session/request_permission") return <Permission key={question.number} {...props} />;
  if (question.method === "elicitation/create" && question.params.mode === "url") return <PageToOpen key={question.number} {...props} />;
  if (question.method === "elicitation/create") return <Form key={question.number} {...props} />;
  return null;
}

export function takeUp(talk: Talk): void {
  later.value = new Set([...later.value].filter((key) => !key.startsWith(`${talk.id}/`)));
}

interface Props {
  talk: Talk;
  question: Question;
  putAside: () => void;
  more: number;
}

function useArmed(): boolean {
  const [armed, setArmed] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setArmed(true), ARMED_AFTER);
    return () => clearTimeout(timer);
  }, []);
  return armed;
}

const TITLES: Record<string, string> = {
  edit: "Edit", delete: "Delete", move: "Move", execute: "Run a command", fetch: "Fetch a page", read: "Read", search: "Search",
};

/** What an option does, whatever its name says. */
const MEANINGS: Record<string, string> = {
  allow_once: "allows it, this time only",
  allow_always: "allows it from now on, without asking",
  reject_once: "refuses it; the agent goes on without it",
  reject_always: "refuses it from now on, without asking",
};

function Permission({ talk, question, putAside, more }: Props) {
  const armed = useArmed();
  const box = useRef<HTMLDivElement>(null);
  const [raw, setRaw] = useState(false);
  const asked = asObj(question.params.toolCall);
  const call = talk.conversation.calls.get(asText(asked.toolCallId));
  const options = asList(question.params.options).filter(isObj);
  const cwd = entries.value.get(talk.id)?.cwd ?? "";
  const rejects = options.find((one) => one.kind === "reject_once") ?? options.find((one) => one.kind === "reject_always");

  useLayoutEffect(() => {
    const start = box.current?.querySelector<HTMLElement>("[data-reject]") ?? box.current?.querySelector<HTMLElement>("button");
    start?.focus({ preventScroll: true }); // what is asked is seen from its beginning
  }, []);
  const choose = (option: Obj): void => {
    if (armed) void answer(talk, question.number, { outcome: { outcome: "selected", optionId: option.optionId ?? "" } });
  };
  const onKey = (event: KeyboardEvent): void => {
    const option = /^[1-9]$/.test(event.key) && !event.ctrlKey && !event.metaKey && !event.altKey ? options[Number(event.key) - 1] : undefined;
    if (option !== undefined) {
      event.preventDefault();
      choose(option);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      const buttons = [...(box.current?.querySelectorAll<HTMLElement>(".answer") ?? [])];
      const at = buttons.indexOf(document.activeElement as HTMLElement);
      buttons[(at + (event.key === "ArrowDown" ? 1 : -1) + buttons.length) % buttons.length]?.focus();
    }
  };
  return (
    <Modal label={titleOf(call, cwd)} class="question" onClose={() => (rejects !== undefined ? choose(rejects) : putAside())}>
      <div ref={box} onKeyDown={onKey} data-question={question.number}>
        <Head icon={kindIcon(call?.tool ?? "other")} title={titleOf(call, cwd)} question={question} badge={call?.tool ?? ""} />
        <div class="dialog-body asked" tabIndex={0} role="group" aria-label="What is asked">
          {call !== undefined && <What call={call} cwd={cwd} />}
          {raw && <Raw name="request" value={question.params} />}
        </div>
        <div class="answers">
          {options.map((option, index) => {
            const kind = asText(option.kind);
            const allows = kind.startsWith("allow");
            return (
              <button key={index} type="button" class="answer" data-kind={kind} data-reject={option === rejects ? "" : undefined} aria-disabled={!armed} onClick={() => choose(option)}>
                {index < 9 ? <kbd>{index + 1}</kbd> : <span />}
                <Icon name={allows ? "check" : kind.startsWith("reject") ? "cross" : "right"} class={allows ? "yes" : "no"} />
                <b><Visible text={asText(option.name) || kind} /></b>
                <span>{MEANINGS[kind] ?? plain(kind)}</span>
              </button>
            );
          })}
        </div>
        <Foot talk={talk}>
          {more > 0 && <span class="dim">{more} more {more === 1 ? "question" : "questions"}</span>}
          <button type="button" class="btn quiet" onClick={putAside}>Later</button>
          <button type="button" class="btn quiet" aria-expanded={raw} onClick={() => setRaw(!raw)}>Raw data</button>
          {rejects !== undefined && <span class="only-wide esc"><kbd>Esc</kbd> reject</span>}
        </Foot>
      </div>
    </Modal>
  );
}

function titleOf(call: ToolItem | undefined, cwd: string): string {
  if (call === undefined) return "The agent asks for permission";
  const path = shortPath(asText(diffsOf(call)[0]?.path) || asText(call.locations[0]?.path), cwd);
  const word = TITLES[call.tool];
  if (call.tool === "execute" && wholeCommand(call.rawInput).command !== "") return "Run a command?";
  if (word !== undefined && path !== "" && call.tool !== "execute") return `${word} ${plain(path)}?`;
  return plain(call.title) === "" ? "Do this?" : `${plain(call.title).replace(/\?$/, "")}?`;
}

/** Everything that the answer is about, whole, with every character visible. */
function What({ call, cwd }: { call: ToolItem; cwd: string }) {
  const diffs = diffsOf(call);
  const { command, beside } = wholeCommand(call.rawInput);
  const others = call.content.filter((one) => one.type !== "terminal" && !(one.type === "diff" && typeof one.newText === "string")).map((one) => (one.type === "content" ? asObj(one.content) : one));
  const { cwd: given, ...fields } = beside;
  const place = asText(given) || cwd;
  const input = command !== "" && typeof given === "string" ? fields : beside;
  const paths = [...new Set([...diffs.map((diff) => asText(diff.path)), ...call.locations.map((one) => asText(one.path))])].filter((path) => path !== "");
  const rest = diffs.length > 0 ? untold(input, diffs, paths, cwd) : input;
  const everything = [call.title, command, ...diffs.flatMap((diff) => [asText(diff.path), asText(diff.oldText), asText(diff.newText)]), ...call.locations.map((one) => asText(one.path)), ...others.map((one) => (one.type === "text" ? asText(one.text) : wordsOf(one))), ...Object.values(rest).map(wordsOf)].join("\n");
  const hidden = useMemo(() => countHidden(everything), [everything]);
  const outside = cwd !== "" && paths.some((path) => path.startsWith("/") && path !== cwd && !path.startsWith(cwd.endsWith("/") ? cwd : `${cwd}/`));
  return (
    <>
      <div class="what">
        {diffs.map((diff, index) => <Diff key={index} path={asText(diff.path)} before={asText(diff.oldText)} after={asText(diff.newText)} sides={false} whole />)}
        {command !== "" && <pre><Visible text={command} /></pre>}
        {command === "" && diffs.length === 0 && <p class="what-title"><Visible text={call.title} /></p>}
        {others.map((one, index) =>
          one.type === "text" ? <pre key={index} class="what-text"><Visible text={asText(one.text)} /></pre>
          : one.type === "image" || one.type === "audio" ? <ContentBlock key={index} block={{ type: one.type, raw: one }} />
          : <Raw key={index} value={one} />)}
        <dl class="facts">
          {Object.entries(rest).map(([name, value]) => <Fact key={name} name={plain(name)}><Visible text={wordsOf(value)} /></Fact>)}
          {paths.map((path, index) => <Fact key={`at ${path}`} name={index === 0 ? "File" : ""}><Visible text={path} /></Fact>)}
          {command !== "" && place !== "" && <Fact name="In"><Visible text={place} /></Fact>}
          {diffs.map((diff, index) => {
            const [added, removed] = count(diff);
            return <Fact key={index} name="Change" words><PlusMinus added={added} removed={removed} />{outside ? ", outside the working directory" : ", inside the working directory"}</Fact>;
          })}
        </dl>
      </div>
      {hidden > 0 && (
        <p class="note warn"><Icon name="alert" size={14} /><span><b>{hidden === 1 ? "One character, or gap, is invisible." : `${hidden} characters, or gaps, are invisible.`}</b> A character is shown by its number, such as U+200B; a gap by its length.</span></p>
      )}
    </>
  );
}

const wordsOf = (value: Json | undefined): string => (typeof value === "string" ? value : JSON.stringify(value ?? null));

const Fact = ({ name, words = false, children }: { name: string; words?: boolean; children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd class={words ? undefined : "mono"}>{children}</dd>
  </>
);

function Head({ icon, title, question, badge, plainTile = false }: { icon: IconName; title: string; question: Question; badge: string; plainTile?: boolean }) {
  const now = useNow(1000);
  const agent = connection.welcome.value?.agent ?? "the agent";
  const waited = now - question.at;
  return (
    <header class="dialog-head">
      <span class={`tile${plainTile ? " plain" : ""}`}><Icon name={icon} size={20} /></span>
      <div>
        <h2>{title}</h2>
        <p>{plain(agent)} asks{waited > 3000 ? ` · ${duration(waited).replace(/\.\d/, "")} ago` : ""}</p>
      </div>
      {badge !== "" && <span class="badge">{plain(badge)}</span>}
    </header>
  );
}

function Foot({ talk, children }: { talk: Talk; children: ComponentChildren }) {
  const me = connection.welcome.value?.user;
  const others = talk.people.value.filter((one) => one.approves && one.name !== me);
  return (
    <footer class="dialog-foot">
      {others.length > 0 && <><Avatar name={others[0]!.name} /><span>{plain(others.map((one) => one.name).join(", "))} may answer too. The first answer counts.</span></>}
      <span class="grow" />
      {children}
    </footer>
  );
}

// -- forms ----------------------------------------------------------------------------------------

type Value = string | boolean | string[];

function Form({ talk, question, putAside }: Props) {
  const armed = useArmed();
  const schema = asObj(question.params.requestedSchema);
  const fields = Object.entries(asObj(schema.properties)).map(([name, field]) => ({ name, field: asObj(field) }));
  const required = asList(schema.required).map(String);
  const [values, setValues] = useState<Record<string, Value>>(() => Object.fromEntries(fields.map(({ name, field }) => [name, initial(field)])));
  const latest = useRef(values); // what is typed may be newer than what is drawn
  const touched = useRef(false);
  const set = (name: string, value: Value): void => {
    touched.current = true;
    latest.current = { ...latest.current, [name]: value };
    setValues(latest.current);
  };
  const [shown, setShown] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>("input, select, textarea")?.focus(), []);
  const faultOf = ({ name, field }: { name: string; field: Obj }, all: Record<string, Value>): string => fault(field, all[name] ?? "", required.includes(name));
  const reply = (result: Json): void => {
    if (armed || touched.current) void answer(talk, question.number, result); // who filled it in has seen it
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setShown(true);
    const wrong = fields.find((one) => faultOf(one, latest.current) !== "");
    if (wrong !== undefined) form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(wrong.name)}"]`)?.focus();
    else reply({ action: "accept", content: contentOf(fields, latest.current) });
  };
  return (
    <Modal label={plain(asText(question.params.message)) || "The agent asks"} class="question" onClose={putAside}>
      <form ref={form} onSubmit={submit} noValidate data-question={question.number}>
        <Head icon="plan" plainTile title={plain(asText(question.params.message)) || "The agent asks"} question={question} badge="" />
        <div class="dialog-body">
          <div class="form">
            {asText(schema.description) !== "" && <p class="dim"><Visible text={asText(schema.description)} /></p>}
            {fields.map(({ name, field }) => (
              <Field key={name} name={name} field={field} value={values[name] ?? ""} optional={!required.includes(name)} fault={shown ? faultOf({ name, field }, values) : ""} set={(value) => set(name, value)} />
            ))}
          </div>
        </div>
        <footer class="dialog-foot">
          <span class="grow">Answers go to the agent, and into the conversation.</span>
          <button type="button" class="btn quiet" onClick={() => reply({ action: "decline" })}>Decline</button>
          <button type="submit" class="btn primary">Send</button>
        </footer>
      </form>
    </Modal>
  );
}

function initial(field: Obj): Value {
  if (field.type === "boolean") return field.default === true;
  if (field.type === "array") return asList(field.default).map(String);
  return field.default === undefined || field.default === null ? "" : String(field.default);
}

type Option = { value: string; title: string };

function optionsOf(field: Obj): Option[] {
  const items = field.type === "array" ? asObj(field.items) : field;
  const titled = asList(items.oneOf ?? items.anyOf).filter(isObj);
  if (titled.length > 0) return titled.map((one) => ({ value: asText(one.const), title: typeof one.title === "string" ? one.title : asText(one.const) }));
  return asList(items.enum).map((one) => ({ value: String(one), title: String(one) }));
}

function fault(field: Obj, value: Value, required: boolean): string {
  if (Array.isArray(value)) {
    if (typeof field.minItems === "number" && value.length < field.minItems) return `Choose at least ${field.minItems}`;
    if (typeof field.maxItems === "number" && value.length > field.maxItems) return `Choose at most ${field.maxItems}`;
    return required && value.length === 0 ? "Choose at least one" : "";
  }
  if (typeof value === "boolean") return "";
  if (value === "") return required ? "This is needed" : "";
  if (field.type === "integer" || field.type === "number") {
    const number = Number(value);
    if (!Number.isFinite(number) || (field.type === "integer" && !Number.isInteger(number))) return field.type === "integer" ? "A whole number" : "A number";
    if (typeof field.minimum === "number" && number < field.minimum) return `At least ${field.minimum}`;
    if (typeof field.maximum === "number" && number > field.maximum) return `At most ${field.maximum}`;
    return "";
  }
  if (typeof field.minLength === "number" && value.length < field.minLength) return `At least ${field.minLength} characters`;
  if (typeof field.maxLength === "number" && value.length > field.maxLength) return `At most ${field.maxLength} characters`;
  if (typeof field.pattern === "string") {
    try {
      if (!new RegExp(field.pattern, "u").test(value)) return asText(field.description) || `It must match ${field.pattern}`;
    } catch {
      return ""; // the agent judges a pattern that no browser can read
    }
  }
  if (field.format === "email" && !/^\S+@\S+$/.test(value)) return "An e-mail address";
  if (field.format === "uri" && !URL.canParse(value)) return "A whole address, such as https://example.org";
  return "";
}

function contentOf(fields: { name: string; field: Obj }[], values: Record<string, Value>): Obj {
  const content: Obj = {};
  for (const { name, field } of fields) {
    const value = values[name] ?? "";
    if (value === "" || (Array.isArray(value) && value.length === 0)) continue;
    content[name] = field.type === "integer" || field.type === "number" ? Number(value) : value;
  }
  return content;
}

function Field({ name, field, value, optional, fault: wrong, set }: { name: string; field: Obj; value: Value; optional: boolean; fault: string; set: (value: Value) => void }) {
  const id = `f-${name}`;
  const title = <><Visible text={asText(field.title) || name} />{optional && field.type !== "boolean" && <span class="dim"> optional</span>}</>;
  const options = optionsOf(field);
  const hint = wrong !== "" ? <p class="hint bad" id={`${id}-hint`}>{wrong}</p> : asText(field.description) !== "" ? <p class="hint" id={`${id}-hint`}><Visible text={asText(field.description)} /></p> : null;
  if (field.type === "boolean") {
    return <div><label class="pick"><input type="checkbox" name={name} checked={value === true} onChange={(event) => set(event.currentTarget.checked)} /><span>{title}</span></label>{hint}</div>;
  }
  if (options.length > 0 && (field.type === "array" || options.length <= 6)) {
    const many = field.type === "array";
    const chosen = Array.isArray(value) ? value : [String(value)];
    return (
      <fieldset>
        <legend>{title}</legend>
        {options.map((option) => (
          <label key={option.value} class="pick">
            <input type={many ? "checkbox" : "radio"} name={name} checked={chosen.includes(option.value)} onChange={(event) => set(many ? (event.currentTarget.checked ? [...chosen, option.value] : chosen.filter((one) => one !== option.value)) : option.value)} />
            <span><Visible text={choiceText(option.value, option.title)} /></span>
          </label>
        ))}
        {hint}
      </fieldset>
    );
  }
  return (
    <div>
      <label for={id}>{title}</label>
      {options.length > 0 ? (
        <select id={id} name={name} class="field" value={String(value)} onChange={(event) => set(event.currentTarget.value)}>
          <option value="" />
          {options.map((option) => <option key={option.value} value={option.value}>{revealed(choiceText(option.value, option.title))}</option>)}
        </select>
      ) : (
        <input
          id={id}
          name={name}
          class={`field${wrong !== "" ? " bad" : ""}`}
          value={String(value)}
          inputMode={field.type === "integer" ? "numeric" : field.type === "number" ? "decimal" : "text"}
          type="text"
          placeholder={field.format === "date" ? "2030-12-31" : undefined}
          autoComplete="off"
          aria-invalid={wrong !== ""}
          aria-describedby={hint === null ? undefined : `${id}-hint`}
          onInput={(event) => set(event.currentTarget.value)}
        />
      )}
      {hint}
    </div>
  );
}

// -- pages to open --------------------------------------------------------------------------------

function PageToOpen({ talk, question, putAside }: Props) {
  const armed = useArmed();
  const url = asText(question.params.url);
  const link = linkOf(url, "");
  const reply = (action: string): void => {
    if (armed) void answer(talk, question.number, { action });
  };
  const at = link === null ? -1 : url.indexOf(link.host);
  return (
    <Modal label="The agent wants you to open a page" class="question" onClose={putAside}>
      <div data-question={question.number}>
        <Head icon="out" plainTile title={plain(asText(question.params.message)) || "Open a page?"} question={question} badge="" />
        <div class="dialog-body">
          <p>Nothing is opened until you do.</p>
          <span class="url">{link === null || at < 0 ? <Visible text={url} /> : <><Visible text={url.slice(0, at)} /><b>{link.host}</b><Visible text={url.slice(at + link.host.length)} /></>}</span>
          {link === null && <p class="note warn"><Icon name="alert" size={14} /><span>This is not an address that a browser may open from here.</span></p>}
        </div>
        <footer class="dialog-foot">
          <span class="grow" />
          <button type="button" class="btn quiet" onClick={() => reply("decline")}>Decline</button>
          <button type="button" class="btn" onClick={() => void navigator.clipboard.writeText(url)}><Icon name="copy" size={14} />Copy</button>
          {link !== null && <a class="btn primary" href={link.href} target="_blank" rel="noopener noreferrer" onClick={() => reply("accept")}><Icon name="out" size={14} />Open {link.host}</a>}
        </footer>
      </div>
    </Modal>
  );
}
