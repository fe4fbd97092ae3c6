// A list to choose from: commands, files, values of an option, everything of the palette.
import { useEffect, useRef } from "../libraries";
import { plain } from "../text/visible";
import { Icon, type IconName } from "./icons";

export interface Choosable {
  title: string;
  detail?: string;
  end?: string;
  icon?: IconName;
  mono?: boolean;
  group?: string;
  isSet?: boolean;
  keys?: string[];
  /** What was typed, to be marked in the title. */
  query?: string;
}

interface Props {
  label: string;
  choices: Choosable[];
  at: number;
  onPick: (index: number) => void;
  id: string;
  title?: string;
  foot?: [string, string][];
}

export function Choices({ label, choices, at, onPick, id, title, foot }: Props) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" }), [at]);
  let group = "";
  return (
    <div class="pop">
      {title !== undefined && <div class="pop-group">{title}</div>}
      <div class="pop-list" role="listbox" aria-label={label} id={id} ref={list}>
        {choices.map((one, index) => {
          const head = one.group !== undefined && one.group !== "" && one.group !== group ? <div key={`g${index}`} class="pop-group" role="presentation">{plain((group = one.group))}</div> : null;
          return [
            head,
            <div
              key={index}
              id={`${id}-${index}`}
              class="opt"
              role="option"
              aria-selected={index === at}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => onPick(index)}
            >
              {one.icon !== undefined && one.icon !== "ring" && <Icon name={one.icon} />}
              <b class={one.mono ? "mono" : undefined}><MarkedTitle title={plain(one.title)} query={one.query ?? ""} /></b>
              <span class="cut grow">{plain(one.detail ?? "")}</span>
              {one.end !== undefined && one.end !== "" && <span class="dim">{plain(one.end)}</span>}
              {one.isSet === true && <Icon name="check" size={14} class="set" />}
              {one.keys?.map((key) => <kbd key={key}>{key}</kbd>)}
            </div>,
          ];
        })}
      </div>
      {foot !== undefined && <div class="pop-foot">{foot.map(([key, word]) => <span key={key}><kbd>{key}</kbd>{word}</span>)}</div>}
    </div>
  );
}

function MarkedTitle({ title, query }: { title: string; query: string }) {
  const at = query === "" ? -1 : title.toLowerCase().indexOf(query.toLowerCase());
  if (at < 0) return <>{title}</>;
  return <>{title.slice(0, at)}<mark>{title.slice(at, at + query.length)}</mark>{title.slice(at + query.length)}</>;
}
