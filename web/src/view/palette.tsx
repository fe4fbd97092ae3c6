// Everything by its name: Ctrl K or ⌘ K.
import { useLayoutEffect, useRef, useState } from "../libraries";
import { actions, type Action } from "./actions";
import { Choices } from "./choices";
import { Icon } from "./icons";
import { panels } from "./panels";
import { Modal } from "./parts";

export const openPalette = (query = ""): void => {
  panels.palette.value = query;
};

function matching(all: Action[], query: string): Action[] {
  const words = query.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const text = (one: Action): string => `${one.title} ${one.detail ?? ""}`.toLowerCase();
  return all.filter((one) => words.every((word) => text(one).includes(word))).slice(0, 50);
}

export function Palette() {
  const start = panels.palette.value;
  return start === null ? null : <Opened start={start} />;
}

function Opened({ start }: { start: string }) {
  const [query, setQuery] = useState(start);
  const [at, setAt] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const found = matching(actions(), query);
  const close = (): void => {
    panels.palette.value = null;
  };
  useLayoutEffect(() => {
    input.current?.focus();
    input.current?.setSelectionRange(99, 99);
  }, []);
  const run = (index: number): void => {
    const action = found[index];
    close();
    action?.run();
  };
  return (
    <Modal label="Palette" class="palette" onClose={close}>
      <div class="palette-in">
        <Icon name="search" />
        <input
          ref={input}
          class="bare"
          role="combobox"
          aria-label="What to do"
          aria-expanded="true"
          aria-controls="palette-list"
          aria-activedescendant={`palette-list-${at}`}
          placeholder="Search for actions and sessions"
          value={query}
          onInput={(event) => {
            setQuery(event.currentTarget.value);
            setAt(0);
          }}
          onKeyDown={(event) => {
            if (event.key === "ArrowDown" || event.key === "ArrowUp") {
              event.preventDefault();
              setAt((at + (event.key === "ArrowDown" ? 1 : found.length - 1)) % Math.max(1, found.length));
            } else if (event.key === "Enter") {
              event.preventDefault();
              run(at);
            }
          }}
        />
      </div>
      {found.length === 0 ? <p class="dim nothing">Nothing is called that.</p> : <Choices label="Actions" id="palette-list" at={at} onPick={run} choices={found.map((one) => ({ ...one, query: query.trim().split(/\s+/).at(-1) ?? "" }))} foot={[["↑↓", "move"], ["↵", "run"], ["Esc", "close"]]} />}
    </Modal>
  );
}
