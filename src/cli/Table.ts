/** Without control characters, on one line: what a server sends must not steer the terminal. */
export const printable = (text: string): string => text.replaceAll(/\p{C}+/gu, " ")

const width = (cells: ReadonlyArray<string>): number => Math.max(...cells.map((cell) => [...cell].length))

const pad = (cell: string, length: number): string => cell + " ".repeat(length - [...cell].length)

/** Rows under headings, in columns as wide as what is in them. Numbers stand as they are, nothing is a dash. */
export const table = (
  headings: ReadonlyArray<string>,
  rows: ReadonlyArray<ReadonlyArray<string | number | null | undefined>>
): string => {
  const lines = [headings, ...rows.map((row) => row.map((cell) => printable(String(cell ?? "-"))))]
  const widths = headings.map((_, column) => width(lines.map((line) => line[column]!)))
  return lines
    .map((line) =>
      line
        .map((cell, column) => pad(cell, widths[column]!))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
