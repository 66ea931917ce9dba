// A document as seismo prints it, for the tests.

export const NOTE = { line: 3, words: "5.0 ms  50.0 %  7 calls", details: [["function", "app:f"]], heat: 1 };
export const DOCUMENT = {
  format: "seismo-gutter",
  version: 1,
  kind: "calls",
  file: "app.seismo",
  program: "python app.py",
  words: "functions by own time; 100 % is 10 ms of running",
  complete: true,
  lost: [],
  files: [{ path: "/app/app.py", problem: "", lines: [NOTE] }],
};
