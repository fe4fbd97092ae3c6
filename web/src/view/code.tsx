// Code in colour: the highlighter is loaded when there is some, until then it is plain.
import { signal } from "../libraries";
import type { Piece } from "../highlighter";
import { CopyButton } from "./parts";

type Highlight = (text: string, language: string) => Piece[] | null;
const loaded = signal<Highlight | null>(null);
let loading = false;

/** Text beyond this is shown without colour: reading it would hold up the page. */
const MOST = 60_000;

export function highlighter(): Highlight | null {
  if (!loading) {
    loading = true;
    void import("../highlighter").then((module) => (loaded.value = module.highlight));
  }
  return loaded.value;
}

const EXTENSIONS: Record<string, string> = {
  py: "python", pyi: "python", js: "javascript", mjs: "javascript", jsx: "javascript", ts: "typescript", tsx: "typescript", rs: "rust", go: "go",
  java: "java", c: "c", h: "c", cc: "c", cpp: "c", hpp: "c", html: "xml", xml: "xml",
  svg: "xml", json: "json", sh: "bash", bash: "bash", sql: "sql", toml: "ini", cfg: "ini", ini: "ini",
  yml: "yaml", yaml: "yaml",
};

export const languageOf = (path: string): string => EXTENSIONS[/\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? ""] ?? "";

export function pieces(text: string, language: string): Piece[] {
  const known = language !== "" && text.length < MOST ? highlighter()?.(text, language) : null;
  return known ?? [{ text, kind: "" }];
}

/** The same line by line, for diffs. */
export function pieceLines(text: string, language: string): Piece[][] {
  const lines: Piece[][] = [[]];
  for (const piece of pieces(text, language)) {
    const [first, ...rest] = piece.text.split("\n");
    lines.at(-1)!.push({ text: first ?? "", kind: piece.kind });
    for (const one of rest) lines.push([{ text: one, kind: piece.kind }]);
  }
  return lines;
}

export const Pieces = ({ of }: { of: Piece[] }) => <>{of.map((piece, index) => (piece.kind ? <span key={index} class={piece.kind}>{piece.text}</span> : piece.text))}</>;

export function Code({ text, language, settled }: { text: string; language: string; settled: boolean }) {
  return (
    <div class="code">
      <div class="code-head">
        <span>{language || "text"}</span>
        <span class="grow" />
        <CopyButton text={() => text} />
      </div>
      <pre tabIndex={0}>
        <code>{settled ? <Pieces of={pieces(text, language.toLowerCase())} /> : text}</code>
      </pre>
    </div>
  );
}
