// Bundles the extension into build/extension.cjs; with --test the unit tests into build/test, with a stub for the editor.

import { readdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const common = {
  absWorkingDir: HERE,
  bundle: true,
  charset: "ascii",
  platform: "node",
  target: ["node20"],
  legalComments: "none",
  logLevel: "warning",
};

if (process.argv.includes("--test")) {
  const tests = (await readdir(join(HERE, "test"))).filter((name) => name.endsWith(".test.ts"));
  await rm(join(HERE, "build/test"), { recursive: true, force: true });
  await build({
    ...common,
    entryPoints: tests.map((name) => join("test", name)),
    outdir: "build/test",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    sourcemap: "inline",
    // In the tests the editor is ours.
    alias: { vscode: join(HERE, "test/editor.ts") },
  });
} else {
  await build({
    ...common,
    entryPoints: ["src/extension.ts"],
    outfile: "build/extension.cjs",
    format: "cjs",
    minify: true,
    external: ["vscode"],
  });
}
