// What a terminal would show: colours as classes, `\r` and erasing applied, everything else left out.
import { Anser } from "../libraries";

export interface Run {
  text: string;
  kind: string;
}

const COLOURS: Record<string, string> = {
  black: "8", red: "1", green: "2", yellow: "3", blue: "4", magenta: "5", cyan: "6", white: "7",
};

/** Lines of runs. */
export function terminalLines(output: string): Run[][] {
  return clean(output).split("\n").map(line);
}

/** The output without titles, cursor movements and the like. */
function clean(output: string): string {
  return output
    .replace(/\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\|$)/g, "")
    .replace(/\u001b[P^_X][^\u001b]*(?:\u001b\\|$)/g, "")
    .replace(/\r\n/g, "\n")
    .replace(/\u001b\[[0-9;?]*[A-JL-Zac-ln-z]/g, "")
    .replace(/\u001b[()#%][A-Za-z0-9]|\u001b[=>78cDEHMNOZ]/g, "")
    .replace(/[\u0000-\u0007\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g, "");
}

function line(text: string): Run[] {
  if (text.includes("\r") || text.includes("\b") || text.includes("\u001b[K") || /\u001b\[[012]K/.test(text)) text = overwritten(text);
  return Anser.ansiToJson(text, { json: true, remove_empty: true, use_classes: true }).map((one) => ({ text: one.content.replace(/\u001b/g, ""), kind: kindOf(one) }));
}

function overwritten(text: string): string {
  const segments = text.split("\r");
  let shown = "";
  for (const segment of segments) {
    const erased = segment.replace(/^(?:\u001b\[[0-9;]*m)*\u001b\[[02]?K/, () => {
      shown = "";
      return "";
    });
    const rest = erased.replace(/\u001b\[[012]?K/g, "");
    const width = rest.replace(/\u001b\[[0-9;]*m/g, "").length;
    const plainBefore = shown.replace(/\u001b\[[0-9;]*m/g, "");
    shown = width === 0 ? shown : rest + plainBefore.slice(width);
  }
  while (/[^\b]\u0008/.test(shown)) shown = shown.replace(/[^\b]\u0008/, "");
  return shown.replace(/\u0008/g, "");
}

type Piece = ReturnType<typeof Anser.ansiToJson>[number];

function kindOf(one: Piece): string {
  const kinds: string[] = [];
  const colour = (value: string | null): string | undefined => COLOURS[(value ?? "").replace(/^ansi-(?:bright-)?/, "")];
  const fore = colour(one.fg);
  const back = colour(one.bg);
  if (fore !== undefined) kinds.push(`fg-${fore}`);
  if (back !== undefined) kinds.push(`bg-${back}`);
  const decorations = one.decorations ?? [];
  if (decorations.includes("bold")) kinds.push("b");
  if (decorations.includes("underline")) kinds.push("u");
  if (decorations.includes("reverse")) kinds.push("v");
  if (decorations.includes("dim")) kinds.push("fg-8");
  return kinds.join(" ");
}
