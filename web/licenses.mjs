// The licences of what is bundled, from the list of files that esbuild read.
import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const ALLOWED = ["MIT", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0", "ISC"];

/** One text for all packages; an unexpected licence stops the build. */
export function licenses(inputs, root) {
  const names = new Set();
  for (const input of inputs) {
    const match = /node_modules\/((?:@[^/]+\/)?[^/]+)\/(?!.*node_modules\/)/.exec(input);
    if (match) names.add(match[1]);
  }
  const parts = [...names].sort().map((name) => {
    const folder = join(root, "node_modules", name);
    const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    if (!ALLOWED.includes(about.license)) throw new Error(`${name} has the licence ${about.license}, which nobody has agreed to`);
    const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
    const text = file && existsSync(join(folder, file)) ? readFileSync(join(folder, file), "utf8").trim() : about.license;
    return `${name} ${about.version} (${about.license})\n\n${text}\n`;
  });
  return `What the page is built from, and its licences.\n\n${parts.join(`\n${"-".repeat(80)}\n\n`)}`;
}
