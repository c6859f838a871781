// Suggestions for misspelt words.

/** The known word with the smallest edit distance, if that is small enough; else undefined. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((name) => ({ name, edits: distance(word, name) })).sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  // At most 3 edits, and at most half of the letters.
  return best !== undefined && best.edits <= Math.min(3, Math.floor(word.length / 2)) ? best.name : undefined;
}

/** The known word that a user probably meant: the nearest one, whatever the case, or else the only one begun by this. */
export function meant(word: string, known: readonly string[]): string | undefined {
  const own = word.toLowerCase();
  const [begun, ...others] = own.length < 3 ? [] : known.filter((name) => name.startsWith(own));
  return nearest(own, known) ?? (others.length === 0 ? begun : undefined);
}

/** The edit distance of two words: substitutions, insertions, deletions and swaps of neighbours. */
export function distance(from: string, to: string): number {
  const rows: number[][] = [Array.from({ length: to.length + 1 }, (_, index) => index)];
  for (let at = 1; at <= from.length; at += 1) {
    const row = [at];
    for (let on = 1; on <= to.length; on += 1) {
      const same = from[at - 1] === to[on - 1];
      const best = [
        (rows[at - 1]?.[on] ?? 0) + 1,
        (row[on - 1] ?? 0) + 1,
        (rows[at - 1]?.[on - 1] ?? 0) + (same ? 0 : 1),
      ];
      if (at > 1 && on > 1 && from[at - 1] === to[on - 2] && from[at - 2] === to[on - 1])
        best.push((rows[at - 2]?.[on - 2] ?? 0) + 1);
      row.push(Math.min(...best));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
