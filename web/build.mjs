// Builds the pages into src/acpella/web/static: names with a hash of what is inside, and a manifest of them.
// Libraries are minified in a file of their own, which changes only with package-lock.json; our code keeps its names,
// so that an error says where it happened, and loses its blanks, which weigh 5 kB even when they are compressed.
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import * as esbuild from "esbuild";
import { licenses } from "./licenses.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const out = process.argv[2] ?? join(here, "../src/acpella/web/static");
const PAGES = { index: { entry: "chat", title: "acpella" }, inspect: { entry: "inspect", title: "Inspector · acpella" } };
const common = { bundle: true, format: "esm", target: "es2022", write: false, legalComments: "none", charset: "utf8", absWorkingDir: here };

const written = {};
function put(name, text) {
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 10);
  const dot = name.lastIndexOf(".");
  const hashed = `${name.slice(0, dot)}-${hash}${name.slice(dot)}`;
  written[name] = hashed;
  writeFileSync(join(out, hashed), text);
  return hashed;
}

const has = (name) => readdirSync(join(here, "src")).some((file) => file.startsWith(`${name}.`));
const inputs = new Set();
async function bundle(entry, options = {}) {
  const built = await esbuild.build({ ...common, metafile: true, entryPoints: [entry], ...options });
  for (const name of Object.keys(built.metafile.inputs)) inputs.add(name);
  return built.outputFiles[0].text;
}

rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const minified = { minify: true, define: { "process.env.NODE_ENV": '"production"' } };
const libraries = put("libraries.js", await bundle("src/libraries.ts", minified));
const highlighter = put("highlighter.js", await bundle("src/highlighter.ts", minified));

const ours = {
  name: "ours",
  setup(build) {
    build.onResolve({ filter: /^preact\/jsx-runtime$|\/libraries(\.ts)?$/ }, () => ({ path: `./${libraries}`, external: true }));
    build.onResolve({ filter: /\/highlighter(\.ts)?$/ }, () => ({ path: `./${highlighter}`, external: true }));
  },
};
const theme = put("theme.js", await bundle("src/theme.ts", { format: "iife" }));
const style = put("style.css", (await esbuild.build({ ...common, entryPoints: ["src/styles/style.css"], minify: true, loader: { ".svg": "dataurl" } })).outputFiles[0].text);
const icon = put("icon.svg", readFileSync(join(here, "src/icon.svg"), "utf8"));

// In one piece, for recordings that are saved as a file with the inspector inside.
const whole = await bundle("src/inspect.tsx", { ...minified, format: "iife", jsx: "automatic", jsxImportSource: "preact" });
put("standalone.js", whole.replaceAll("</script", "<\\/script"));

for (const [page, { entry, title }] of Object.entries(PAGES)) {
  if (!has(entry)) continue;
  const script = put(`${entry}.js`, await bundle(`src/${entry}.tsx`, { plugins: [ours], minifySyntax: true, minifyWhitespace: true, lineLimit: 160, jsx: "automatic", jsxImportSource: "preact", jsxSideEffects: true }));
  const html = readFileSync(join(here, "src/page.html"), "utf8")
    .replaceAll("{title}", title)
    .replaceAll("{theme}", theme)
    .replaceAll("{style}", style)
    .replaceAll("{icon}", icon)
    .replaceAll("{libraries}", libraries)
    .replaceAll("{script}", script);
  writeFileSync(join(out, `${page}.html`), html);
  written[`${page}.html`] = `${page}.html`;
}
writeFileSync(join(out, "LICENSES.txt"), licenses([...inputs], here));
written["LICENSES.txt"] = "LICENSES.txt";
const manifest = Object.fromEntries(Object.entries(written).sort(([a], [b]) => (a < b ? -1 : 1)));
writeFileSync(join(out, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
