// Folds the updates of a file with the page's own module, and tells what came of them: fold_peer.mjs WEB FILE
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const [web, file] = process.argv.slice(2);
const esbuild = createRequire(join(web, "package.json"))("esbuild");
const built = await esbuild.build({ entryPoints: [join(web, "src/fold/fold.ts")], bundle: true, format: "esm", write: false });
const { commandOf, diffsOf, empty, fold, textOf } = await import(`data:text/javascript;base64,${Buffer.from(built.outputFiles[0].text).toString("base64")}`);

const results = JSON.parse(readFileSync(file, "utf8")).map((updates) => {
  const talk = empty();
  updates.forEach((update, index) => fold(talk, { n: index + 1, t: index, k: "update", update }));
  updates.forEach((update, index) => fold(talk, { n: index + 1, t: index, k: "update", update })); // again: each counts once
  return {
    text: textOf(talk.items),
    thoughts: talk.items.filter((one) => one.kind === "thought").map((one) => one.text).join(""),
    calls: [...talk.calls.values()].map((one) => ({
      id: one.id, title: one.title, kind: one.tool, status: one.status, command: commandOf(one.rawInput), output: one.output,
      locations: one.locations.map((place) => place.path), changed: diffsOf(one).map((diff) => diff.path),
    })),
    plan: talk.plan.map((one) => [one.content, one.status]),
    commands: talk.commands.map((one) => one.name),
    used: talk.usage.used ?? null,
  };
});
process.stdout.write(JSON.stringify(results));
