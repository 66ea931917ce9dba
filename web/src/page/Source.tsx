// The source of a function, with the times of its lines if they were recorded.

import { useMemo } from "preact/hooks";
import { highlighted } from "../chrome/highlight.ts";
import { C, type Source as SourceLines } from "../data/calls.ts";
import { count, error, time } from "../data/words.ts";
import type { Graph } from "../flame/graph.ts";

interface Line {
  hits: number;
  own: number;
  error: number;
}

/** Return the recorded lines of a function, by number. */
function linesOf(graph: Graph, fn: number): Map<number, Line> {
  const found = new Map<number, Line>();
  const { payload } = graph;
  if (!payload.has("l.function")) return found;
  const functions = payload.column("l.function");
  const [line, hits, own, errors] = ["line", "hits", "own", "own_error"].map((name) => payload.column(`l.${name}`));
  for (let row = 0; row < functions.length; row++) {
    if (functions[row] === fn) found.set(line[row], { hits: hits[row], own: own[row], error: errors[row] });
  }
  return found;
}

export function Source({ graph, fn }: { graph: Graph; fn: number }) {
  const source = graph.head.sources[fn];
  const lines = useMemo(() => linesOf(graph, fn), [graph, fn]);
  if (source) return <SourceText source={source} lines={lines} />;
  return graph.functions.kind[fn] === C ? null : (
    <p class="quiet">The source of this function is not in the page: only those with most of the time are.</p>
  );
}

const NO_LINES = new Map<number, Line>();

/** The text of a function, and beside each line its numbers if there are any. */
export function SourceText({ source, lines = NO_LINES }: { source: SourceLines; lines?: Map<number, Line> }) {
  const text = useMemo(() => highlighted(source.lines), [source]);
  const most = Math.max(0, ...[...lines.values()].map((line) => line.own));
  return (
    <div class="source-pane">
      <h3>Source {!lines.size && <span class="quiet">(no times of lines were recorded: seismo lines does)</span>}</h3>
      {source.problem && <p class="warn">{source.problem}</p>}
      {text.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
        <section class="source" tabIndex={0} aria-label="source">
          <table>
            {lines.size > 0 && (
              <thead>
                <tr>
                  <th scope="col">line</th>
                  <th scope="col">hits</th>
                  <th scope="col">own</th>
                  <th scope="col">±</th>
                  <td />
                </tr>
              </thead>
            )}
            <tbody>
              {text.map((pieces, at) => {
                const number = source.first + at;
                const line = lines.get(number);
                const heat = line && most > 0 ? Math.round(9 * Math.sqrt(line.own / most)) : 0;
                return (
                  <tr key={number} class={`heat${heat}`}>
                    <th scope="row">{number}</th>
                    {lines.size > 0 && (
                      <>
                        <td>{line ? count(line.hits) : ""}</td>
                        <td>{line && (line.own > 0 || line.error > 0) ? time(line.own, line.error) : ""}</td>
                        <td>{line ? error(line.error, line.own) : ""}</td>
                      </>
                    )}
                    <td class="code">
                      {pieces.map(([kind, piece], index) =>
                        kind ? (
                          <i key={index} class={kind}>
                            {piece}
                          </i>
                        ) : (
                          piece
                        ),
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </section>
      )}
      {source.more > 0 && <p class="quiet">⋯ {count(source.more)} more lines are not in the page</p>}
    </div>
  );
}
