// Words that were misspelt.

/** The known word that takes the fewest edits, where that is few. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known.map((name) => ({ name, edits: distance(word, name) })).sort((a, b) => a.edits - b.edits);
  const best = ranked[0];
  // More than half of a word in other letters is another word.
  return best !== undefined && best.edits <= Math.min(3, Math.ceil(word.length / 2)) ? best.name : undefined;
}

/** How many letters are to be put in, taken out or changed to make one word of the other. */
export function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
