// Loaded when the first code is shown: words of a language as a tree, never as markup.
import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";

const lowlight = createLowlight({
  bash, c, go, ini, java, javascript, json, python, rust, sql,
  typescript, xml, yaml,
});
lowlight.registerAlias({
  bash: ["sh", "shell", "zsh", "console"], c: ["cpp", "c++", "cc", "h", "hpp"], ini: ["toml", "cfg"],
  javascript: ["js", "jsx", "mjs", "cjs"], python: ["py", "pyi"], rust: ["rs"],
  typescript: ["ts", "tsx"], xml: ["html", "svg", "vue"], yaml: ["yml"],
});

/** A piece of text, with the class of the innermost element around it that has one. */
export type Piece = { text: string; kind: string };

type Node = { type: string; value?: string; children?: Node[]; properties?: { className?: string[] } };

const KINDS: Record<string, string> = {
  keyword: "k", built_in: "f", type: "f", literal: "n", number: "n", string: "s", regexp: "s", comment: "c", doctag: "c",
  title: "f", function_: "f", class_: "f", meta: "k", attr: "f", attribute: "f", symbol: "n", variable: "", name: "k",
  "selector-tag": "k", "selector-class": "f", "selector-id": "f", section: "k", bullet: "n", quote: "c", addition: "s",
  deletion: "k", params: "", subst: "", property: "f", punctuation: "", operator: "", code: "s", strong: "k", emphasis: "s", link: "s", tag: "",
};

/** The pieces of a text; null for a language that is not supported. */
export function highlight(text: string, language: string): Piece[] | null {
  if (!lowlight.registered(language)) return null;
  const pieces: Piece[] = [];
  const walk = (nodes: Node[], kind: string): void => {
    for (const node of nodes) {
      if (node.type === "text") pieces.push({ text: node.value ?? "", kind });
      else {
        const names = (node.properties?.className ?? []).map((name) => name.replace("hljs-", ""));
        const own = names.map((name) => KINDS[name]).find((one) => one !== undefined);
        walk(node.children ?? [], own ?? kind);
      }
    }
  };
  walk((lowlight.highlight(language, text) as unknown as Node).children ?? [], "");
  return pieces;
}
