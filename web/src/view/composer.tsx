// Where a person writes: commands with `/`, files with `@`, pictures by paste or drop; what the session is set to.
import { useEffect, useLayoutEffect, useRef, useState } from "../libraries";
import { settings as settingsOf } from "../fold/fold";
import type { Command, Setting } from "../fold/model";
import { change, connection, firstDraft, may, prompt, stop, tell, type Draft, type Talk } from "../store";
import { amount, bytes, money } from "../text/times";
import { plain } from "../text/visible";
import { asList, asNumber, asObj, asText, type Obj } from "../wire/types";
import { Icon } from "./icons";
import { IconButton, Meter } from "./parts";
import { Choices, type Choosable } from "./choices";

const MOST_IMAGE = 10 * 1024 * 1024;
const TWICE = 1500;

type Suggestion = Choosable & { insert: string; block?: Obj };

export function Composer({ talk }: { talk: Talk | null }) {
  talk?.version.value;
  const written = talk === null ? firstDraft : talk.draft;
  const draft = written.value;
  const setDraft = (next: Draft): void => {
    written.value = next;
  };
  const area = useRef<HTMLTextAreaElement>(null);
  const [chosen, setChosen] = useState(0);
  const [place, setPlace] = useState(0);
  const [closed, setClosed] = useState("");
  const [files, setFiles] = useState<{ query: string | null; found: Suggestion[] }>({ query: null, found: [] });
  /** Where the caret belongs once a completion is in the text. */
  const wanted = useRef<number | null>(null);
  /** A key that completes, pressed before the files of what is typed were there. */
  const early = useRef<string | null>(null);
  const links = useRef(new Map<string, Obj>());
  const escaped = useRef(-Infinity); // a page that is a moment old has seen no Esc yet
  const [hint, setHint] = useState("");
  const running = talk !== null && talk.conversation.turn !== null;
  const capabilities = asObj(connection.welcome.value?.agentCapabilities.promptCapabilities);
  const canWrite = may("prompt") && (talk === null || talk.role.value === "controller");
  const agent = plain(connection.welcome.value?.agent ?? "the agent");

  useLayoutEffect(() => {
    const box = area.current;
    if (box === null) return;
    // the height of a text cannot be said in a style sheet: it is measured, and set through the object model
    box.style.blockSize = "0";
    box.style.blockSize = `${Math.min(Math.max(box.scrollHeight, 42), innerHeight * 0.4)}px`;
    if (wanted.current !== null) {
      box.focus();
      box.setSelectionRange(wanted.current, wanted.current);
      wanted.current = null;
    }
  }, [draft.text]);
  useLayoutEffect(() => {
    if (!matchMedia("(pointer: coarse)").matches) area.current?.focus();
  }, [talk, canWrite]);

  // -- what is being typed --------------------------------------------------------------------
  const caret = Math.min(place, draft.text.length);
  const before = draft.text.slice(0, caret);
  const slash = /^\/([\w:.-]*)$/.exec(before);
  const at = /(?:^|\s)@([^\s@]*)$/.exec(before);
  useEffect(() => {
    if (at === null || !canWrite) return;
    const query = at[1]!;
    let over = false;
    const timer = setTimeout(() => {
      const params: Obj = talk === null ? { query } : { query, sessionId: talk.id };
      connection.request("_acpella/files", params).then(
        (result) => {
          if (over) return;
          setFiles({ query, found: asList(asObj(result).files).map((one) => suggestFile(asObj(one), query)) });
        },
        () => !over && setFiles({ query, found: [] }),
      );
    }, 60);
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [at?.[1]]);
  const commands = slash === null || talk === null ? [] : suggestCommands(talk.conversation.commands, slash[1]!);
  const suggestions: Suggestion[] = closed === before ? [] : slash !== null ? commands : at !== null ? files.found : [];
  /** The files that are offered are those of an earlier word. */
  const isLate = closed !== before && slash === null && at !== null && canWrite && connection.link.value.state === "live" && files.query !== at[1];
  const picked = Math.min(chosen, suggestions.length - 1);

  const insert = (one: Suggestion): void => {
    const start = slash !== null ? 0 : caret - at![1]!.length - 1;
    const text = `${draft.text.slice(0, start)}${one.insert} ${draft.text.slice(caret).replace(/^\s/, "")}`;
    if (one.block !== undefined) links.current.set(one.insert, one.block);
    setDraft({ ...draft, text });
    setChosen(0);
    const next = start + one.insert.length + 1;
    setPlace(next);
    wanted.current = next;
  };

  const submit = (): void => {
    const draft = written.value; // what is typed may be newer than what is drawn
    const text = draft.text.trim();
    if (!canWrite || (text === "" && draft.attached.length === 0) || connection.link.value.state !== "live") return;
    const named = [...links.current].filter(([name]) => text.includes(name)).map(([, block]) => block);
    links.current.clear();
    const blocks: Obj[] = [...(text === "" ? [] : [{ type: "text", text }]), ...named, ...draft.attached];
    setDraft({ text: "", attached: [] });
    void prompt(blocks);
  };

  useLayoutEffect(() => {
    const key = early.current;
    if (key === null || isLate) return;
    early.current = null;
    if (suggestions[0] !== undefined) insert(suggestions[0]);
    else if (key === "Enter") submit();
  }, [files]);

  const onKey = (event: KeyboardEvent): void => {
    if (event.isComposing) return;
    if (suggestions.length > 0) {
      if (event.key === "ArrowDown" || event.key === "ArrowUp") {
        event.preventDefault();
        setChosen((picked + (event.key === "ArrowDown" ? 1 : suggestions.length - 1)) % suggestions.length);
        return;
      }
      if (event.key === "Tab" || (event.key === "Enter" && !event.shiftKey)) {
        event.preventDefault();
        if (isLate) early.current = event.key;
        else insert(suggestions[picked]!);
        return;
      }
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        setClosed(before);
        return;
      }
    }
    if (isLate && (event.key === "Tab" || event.key === "Enter") && !event.shiftKey) {
      event.preventDefault();
      early.current = event.key;
    } else if (event.key === "Enter" && !event.shiftKey && !event.altKey) {
      event.preventDefault();
      submit();
    } else if (event.key === "Escape" && running) {
      if (event.timeStamp - escaped.current < TWICE) {
        stop();
        setHint("");
        escaped.current = -Infinity; // the next turn wants two of its own
      } else {
        setHint("Press Esc again to stop the agent");
        setTimeout(() => setHint(""), TWICE);
        escaped.current = event.timeStamp;
      }
    } else if (event.key === "ArrowUp" && draft.text === "" && talk !== null) {
      const last = talk.conversation.items.findLast((item) => item.kind === "prompt");
      if (last?.kind === "prompt") {
        event.preventDefault();
        setDraft({ ...draft, text: last.blocks.filter((one) => one.type === "text").map((one) => asText(one.raw.text)).join("\n") });
      }
    }
  };

  const attach = async (list: FileList | File[]): Promise<void> => {
    for (const file of list) {
      const kind = file.type.startsWith("image/") ? "image" : file.type.startsWith("audio/") ? "audio" : "";
      if (kind === "" || capabilities[kind] !== true) tell(new Error(kind === "" ? `${file.name} is neither a picture nor a sound` : `${agent} takes no ${kind === "image" ? "pictures" : "sound"}`));
      else if (file.size > MOST_IMAGE) tell(new Error(`${file.name} has ${bytes(file.size)}; at most ${bytes(MOST_IMAGE)} can be sent`));
      else {
        const data = await base64(file);
        setDraft({ ...written.value, attached: [...written.value.attached, { type: kind, mimeType: file.type, data, _meta: { name: file.name, size: file.size } }] });
      }
    }
  };

  const lost = connection.link.value.state !== "live";
  const words = connection.welcome.value === null ? "" : !canWrite ? "You watch this session" : running ? "Add to the queue. The agent is working." : innerWidth > 720 ? `Message ${agent}: / for commands, @ for files` : `Message ${agent}`;
  const all = talk === null ? [] : settingsOf(talk.conversation);
  return (
    <div class="dock">
      <div
        class="composer"
        onDragOver={(event) => event.preventDefault()}
        onDrop={(event) => {
          event.preventDefault();
          if (event.dataTransfer !== null) void attach(event.dataTransfer.files);
        }}
      >
        {suggestions.length > 0 && (
          <Choices label={slash !== null ? "Commands" : "Files"} choices={suggestions} at={picked} onPick={(index) => insert(suggestions[index]!)} id="suggestions" foot={[["Tab", "complete"], ["Esc", "close"]]} />
        )}
        {talk?.queue.value.map((queued) => (
          <div key={queued.key} class="queue">
            <Icon name="clock" size={14} />
            <span class="cut grow">Queued: {plain(queued.blocks.map((one) => asText(one.text)).join(" "))}</span>
            <button type="button" class="btn quiet small" onClick={() => {
              talk.queue.value = talk.queue.value.filter((one) => one !== queued);
              setDraft({ text: queued.blocks.map((one) => asText(one.text)).join(""), attached: queued.blocks.filter((one) => one.type === "image" || one.type === "audio") });
            }}>Edit</button>
            <IconButton icon="cross" size={14} label="Do not send it" onClick={() => (talk.queue.value = talk.queue.value.filter((one) => one !== queued))} />
          </div>
        ))}
        {draft.attached.length > 0 && (
          <div class="attach in-composer">
            {draft.attached.map((one, index) => (
              <span key={index} class="shot">
                <Icon name="image" size={14} />
                <span><b>{plain(asText(asObj(one._meta).name)) || asText(one.type)}</b><small>{bytes(asNumber(asObj(one._meta).size) ?? 0)}</small></span>
                <IconButton icon="cross" size={12} label="Remove" onClick={() => setDraft({ ...draft, attached: draft.attached.filter((other) => other !== one) })} />
              </span>
            ))}
          </div>
        )}
        <textarea
          ref={area}
          aria-label="Prompt"
          placeholder={words}
          value={draft.text}
          disabled={!canWrite}
          rows={1}
          autoComplete="off"
          aria-autocomplete="list"
          aria-controls={suggestions.length > 0 ? "suggestions" : undefined}
          aria-activedescendant={suggestions.length > 0 ? `suggestions-${picked}` : undefined}
          onInput={(event) => {
            early.current = null;
            setDraft({ ...written.value, text: event.currentTarget.value });
            setPlace(event.currentTarget.selectionStart);
            setChosen(0);
          }}
          onSelect={(event) => setPlace(event.currentTarget.selectionStart)}
          onKeyDown={onKey}
          onPaste={(event) => {
            const pasted = [...(event.clipboardData?.files ?? [])];
            if (pasted.length > 0) {
              event.preventDefault();
              void attach(pasted);
            }
          }}
        />
        <div class="composer-row">
          {capabilities.image === true && <AttachButton onFiles={(list) => void attach(list)} />}
          <span class="chips grow">{all.map((setting) => <SettingChip key={`${setting.how}-${setting.id}`} setting={setting} disabled={!canWrite || !may("approve")} />)}</span>
          <span class="composer-hint" role="status">{hint}</span>
          {talk !== null && <UsageChip usage={talk.conversation.usage} />}
          {running && draft.text.trim() === "" && draft.attached.length === 0 ? (
            <button type="button" class="send stop" aria-label="Stop the agent" title="Stop the agent" onClick={stop} disabled={!canWrite}><Icon name="stop" /></button>
          ) : (
            <button type="button" class="send" aria-label={running ? "Add to the queue" : "Send"} title={running ? "Add to the queue" : "Send"} onClick={submit} disabled={!canWrite || lost || (draft.text.trim() === "" && draft.attached.length === 0)}><Icon name="send" /></button>
          )}
        </div>
      </div>
    </div>
  );
}

function base64(file: File): Promise<string> {
  return new Promise((done, failed) => {
    const reader = new FileReader();
    reader.onload = () => done(String(reader.result).replace(/^[^,]*,/, ""));
    reader.onerror = () => failed(reader.error ?? new Error("the file cannot be read"));
    reader.readAsDataURL(file);
  });
}

function suggestFile(one: Obj, query: string): Suggestion {
  const path = asText(one.path);
  return { title: path, mono: true, icon: /\.(png|jpe?g|gif|webp|svg)$/i.test(path) ? "image" : "read", detail: "", query, insert: `@${path}`, block: { type: "resource_link", uri: asText(one.uri), name: path } };
}

function suggestCommands(commands: Command[], query: string): Suggestion[] {
  const low = query.toLowerCase();
  return commands
    .filter((one) => one.name.toLowerCase().includes(low))
    .sort((a, b) => Number(b.name.toLowerCase().startsWith(low)) - Number(a.name.toLowerCase().startsWith(low)))
    .slice(0, 12)
    .map((one) => ({ title: `/${one.name}`, icon: "slash", detail: one.description, end: one.hint === "" ? "" : `[${one.hint}]`, query, insert: `/${one.name}` }));
}

function AttachButton({ onFiles }: { onFiles: (files: FileList) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton icon="image" label="Attach an image" onClick={() => input.current?.click()} />
      <input ref={input} type="file" accept="image/*" multiple hidden onChange={(event) => {
        if (event.currentTarget.files !== null) onFiles(event.currentTarget.files);
        event.currentTarget.value = "";
      }} />
    </>
  );
}

function UsageChip({ usage }: { usage: Obj }) {
  const used = asNumber(usage.used);
  const size = asNumber(usage.size);
  const cost = asObj(usage.cost);
  const spent = asNumber(cost.amount);
  if (used === null && spent === null) return null;
  const parts: string[] = [];
  if (used !== null && size !== null && size > 0) parts.push(`${Math.round((used / size) * 100)} %`);
  else if (used !== null) parts.push(`${amount(used)} tokens`);
  if (spent !== null) parts.push(money(spent, asText(cost.currency) || "USD"));
  return (
    <span class="usage only-wide">
      {used !== null && size !== null && size > 0 && <Meter share={used / size} small />}
      {parts.join(" · ")}
    </span>
  );
}

/** What the session is set to, and what else it could be. */
function SettingChip({ setting, disabled }: { setting: Setting; disabled: boolean }) {
  const [open, setOpen] = useState(false);
  const chip = useRef<HTMLButtonElement>(null);
  const set = (value: string | boolean): void => {
    setOpen(false);
    chip.current?.focus();
    if (setting.how === "mode") void change("session/set_mode", { modeId: value });
    else if (setting.how === "model") void change("session/set_model", { modelId: value });
    else void change("session/set_config_option", setting.type === "boolean" ? { configId: setting.id, type: "boolean", value } : { configId: setting.id, value });
  };
  if (setting.type === "boolean") {
    return <button type="button" class="chip switch" role="switch" aria-checked={setting.value === true} disabled={disabled} title={plain(setting.description)} onClick={() => set(setting.value !== true)}>{plain(setting.name)}</button>;
  }
  const current = setting.choices.find((one) => one.id === setting.value);
  const isMain = setting.category === "mode" || setting.category === "model";
  return (
    <span class="chip-box">
      <button ref={chip} type="button" class="chip" aria-haspopup="listbox" aria-expanded={open} disabled={disabled} aria-label={`${plain(setting.name)}: ${plain(current?.name ?? String(setting.value))}`} onClick={() => setOpen(!open)}>
        {setting.category === "mode" && <Icon name="shield" size={14} />}
        {!isMain && <span class="key">{plain(setting.name)}</span>}
        <span class="cut">{plain(current?.name ?? String(setting.value))}</span>
        <Icon name="down" size={11} />
      </button>
      {open && <SettingList setting={setting} onPick={set} onClose={() => {
        setOpen(false);
        chip.current?.focus();
      }} />}
    </span>
  );
}

function SettingList({ setting, onPick, onClose }: { setting: Setting; onPick: (value: string) => void; onClose: () => void }) {
  const [at, setAt] = useState(Math.max(0, setting.choices.findIndex((one) => one.id === setting.value)));
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current?.focus();
    const outside = (event: PointerEvent): void => {
      if (!box.current?.contains(event.target as Node)) onClose();
    };
    document.addEventListener("pointerdown", outside, true);
    return () => document.removeEventListener("pointerdown", outside, true);
  }, []);
  const choices: Choosable[] = setting.choices.map((one) => ({ title: one.name, detail: one.description, group: one.group, icon: "ring", isSet: one.id === setting.value }));
  return (
    <div
      ref={box}
      class="pop-at"
      tabIndex={-1}
      onKeyDown={(event) => {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
          event.preventDefault();
          setAt((at + (event.key === "ArrowDown" ? 1 : choices.length - 1)) % choices.length);
        } else if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          onPick(setting.choices[at]!.id);
        } else if (event.key === "Escape" || event.key === "Tab") {
          event.preventDefault();
          event.stopPropagation();
          onClose();
        }
      }}
    >
      <Choices label={plain(setting.name)} choices={choices} at={at} onPick={(index) => onPick(setting.choices[index]!.id)} id={`set-${setting.id}`} title={plain(setting.name)} />
    </div>
  );
}

export const focusComposer = (): void => document.querySelector<HTMLElement>(".composer textarea")?.focus();
