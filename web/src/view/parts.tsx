// Small parts that every view uses.
import { useEffect, useLayoutEffect, useRef, useState, type ComponentChildren } from "../libraries";
import { now } from "../text/clock";
import type { State } from "../wire/types";
import { parts as visibleParts } from "../text/visible";
import { Icon, type IconName } from "./icons";

export function IconButton({ icon, label, onClick, class: own = "", pressed, size = 16, expanded }: { icon: IconName; label: string; onClick?: (event: MouseEvent) => void; class?: string; pressed?: boolean; size?: number; expanded?: boolean }) {
  return (
    <button type="button" class={`icon ${own}`} aria-label={label} title={label} aria-pressed={pressed} aria-expanded={expanded} onClick={onClick}>
      <Icon name={icon} size={size} />
    </button>
  );
}

const WORDS: Record<State, string> = { running: "running", waiting: "waiting for you", done: "done", failed: "failed", idle: "" };
const GLYPHS: Record<State, IconName | null> = { running: "spin", waiting: null, done: "check", failed: "cross", idle: "chat" };

/** One glyph and one word, never colour alone. */
export function StateGlyph({ state }: { state: State }) {
  const glyph = GLYPHS[state];
  return (
    <span class={`st ${state}`}>
      {glyph !== null && <Icon name={glyph} size={14} />}
      {WORDS[state] !== "" && <span class="hide">{WORDS[state]}</span>}
    </span>
  );
}

/** A person, told apart by letter as well as by colour. */
export function Avatar({ name, big = false }: { name: string; big?: boolean }) {
  let sum = 0;
  for (const character of name) sum = (sum * 31 + character.codePointAt(0)!) % 997;
  return (
    <span class={`avatar p${(sum % 4) + 1}${big ? " big" : ""}`} aria-hidden="true">
      {([...name][0] ?? "?").toUpperCase()}
    </span>
  );
}

/** Text of which a reader sees every character. */
export function Visible({ text }: { text: string }) {
  return <>{visibleParts(text).map((part, index) => (part.hidden ? <span key={index} class="ghost">{part.text}</span> : part.text))}</>;
}

export function CopyButton({ text, label = "Copy" }: { text: () => string; label?: string }) {
  const [done, setDone] = useState(false);
  const copy = async (): Promise<void> => {
    await navigator.clipboard.writeText(text());
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return <IconButton icon={done ? "check" : "copy"} size={14} label={done ? "Copied" : label} onClick={() => void copy()} />;
}

/** A meter whose length is an attribute: styles from data are not allowed on this page. */
export function Meter({ share, small = false, label }: { share: number; small?: boolean; label?: string }) {
  const width = `${Math.min(100, Math.max(0, share * 100)).toFixed(1)}%`;
  return (
    <svg class={`meter${small ? " small" : ""}`} role={label === undefined ? undefined : "img"} aria-label={label} aria-hidden={label === undefined}>
      <rect width={width} height="100%" rx="2" />
    </svg>
  );
}

export function Keys({ keys }: { keys: string[] }) {
  return <span class="key-row">{keys.map((key) => <kbd key={key}>{key}</kbd>)}</span>;
}

/** Where the focus was before each dialog. */
const origins = new WeakMap<Element, Element | null>();

/** The place to go back to. A dialog that opened this one may be gone: then it is the place before that. */
function origin(dialog: Element): HTMLElement | null {
  let place = origins.get(dialog) ?? null;
  while (place !== null && !place.isConnected) {
    const owner = place.closest("dialog");
    place = owner === null ? null : (origins.get(owner) ?? null);
  }
  return place instanceof HTMLElement ? place : null;
}

/** A native modal dialog; what is behind it cannot be reached. It opens before the next key can come. */
export function Modal({ label, class: own = "", onClose, children }: { label: string; class?: string; onClose: () => void; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const shown = dialog.current!;
    origins.set(shown, document.activeElement);
    if (!shown.open) shown.showModal();
    return () => {
      shown.close();
      origin(shown)?.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={`dialog ${own}`}
      aria-label={label}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose();
      }}
    >
      {children}
    </dialog>
  );
}

/** The current time, for what counts up. Each caller has a timer of its own. */
export function useNow(every: number, active = true): number {
  const [time, setTime] = useState(now);
  useEffect(() => {
    if (!active) return;
    const timer = setInterval(() => setTime(now()), every);
    return () => clearInterval(timer);
  }, [every, active]);
  return time;
}

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
export const MOD = isMac ? "⌘" : "Ctrl";
