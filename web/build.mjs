// Bundles each file of src/entries into one minified script or style, which the Python package contains.
//
//   node build.mjs            writes them, and prints which have changed
//   node build.mjs --compare  writes nothing; exits with 1 if the committed bundles differ from the sources
//   node build.mjs --test     bundles the unit tests into build/test, for node --test
//   node build.mjs --watch    writes them again at every change
//
// The result depends on the sources and on package-lock.json only: no dates, no paths, no names of machines.

import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const HERE = dirname(fileURLToPath(import.meta.url));
const OUT = join(HERE, "../src/seismo/report/page/built");
const LARGEST = 200 * 1024; // bytes of code in a page

const common = {
  absWorkingDir: HERE,
  bundle: true,
  charset: "ascii", // a bundle reads the same whatever encoding it is taken for
  target: ["es2022"],
  logLevel: "warning",
};

async function entries(folder, ending) {
  const names = await readdir(join(HERE, folder));
  return names.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
}

async function pages() {
  const scripts = await entries("src/entries", ".tsx");
  const styles = await entries("src/entries", ".css");
  return {
    ...common,
    entryPoints: [...scripts, ...styles],
    outdir: OUT,
    format: "iife",
    minify: true,
    legalComments: "none",
    banner: {
      js: "/* With Preact, (c) 2015-present Jason Miller, MIT License: see PREACT-LICENSE beside this file. */",
    },
    define: { "process.env.NODE_ENV": '"production"' },
  };
}

async function old(path) {
  try {
    return await readFile(path);
  } catch {
    return Buffer.alloc(0);
  }
}

async function outputs() {
  const made = await build({ ...(await pages()), write: false });
  const files = made.outputFiles.map((file) => ({ path: file.path, contents: Buffer.from(file.contents) }));
  const license = await readFile(join(HERE, "node_modules/preact/LICENSE"));
  return [...files, { path: join(OUT, "PREACT-LICENSE"), contents: license }];
}

async function write(compare) {
  const changed = [];
  for (const { path, contents } of await outputs()) {
    const name = path.slice(OUT.length + 1);
    if (contents.length > LARGEST) throw new Error(`${name} has ${contents.length} bytes; ${LARGEST} is the limit`);
    if (!contents.equals(await old(path))) changed.push(name);
    if (!compare) {
      await mkdir(OUT, { recursive: true });
      await writeFile(path, contents);
    }
    console.log(`${name}: ${(contents.length / 1024).toFixed(1)} KB`);
  }
  if (changed.length === 0) return console.log("the committed bundles match the sources");
  console.log(`${compare ? "differ from the sources" : "changed"}: ${changed.join(", ")}`);
  if (compare) {
    console.log("run `make web` and commit what it wrote");
    process.exitCode = 1;
  }
}

async function tests() {
  await rm(join(HERE, "build/test"), { recursive: true, force: true });
  const entryPoints = await entries("test", ".test.ts");
  await build({ ...common, entryPoints, outdir: "build/test", format: "esm", platform: "node", packages: "external" });
}

const [mode] = process.argv.slice(2);
if (mode === "--test") await tests();
else if (mode === "--watch") await (await context(await pages())).watch();
else await write(mode === "--compare");
