// A document as seismo prints it, for the tests.

export const NOTE = { line: 3, words: "5.0 ms  50.0 %  7 calls", details: [["function", "app:f"]], heat: 1 };
export const DOCUMENT = {
  format: "seismo-report",
  version: 1,
  kind: "calls",
  file: "app.seismo",
  program: "python app.py",
  complete: true,
  totals: {},
  facts: [],
  sections: {
    notes: {
      title: "Notes beside lines",
      remark: "functions by own time; 100 % is 10 ms of running",
      more: 0,
      rows: [{ path: "/app/app.py", problem: "", lines: [NOTE] }],
    },
  },
  left_out: [],
  next: [],
};

/** The members of a document that has these rows in its notes. */
export const noted = (rows: unknown) => ({ sections: { notes: { ...DOCUMENT.sections.notes, rows } } });
