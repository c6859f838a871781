// What two texts have in common, word by word.

/** A part of a text: in both, or only in this one. */
export interface Piece {
  text: string;
  same: boolean;
}

/** Words that are compared one by one; what a longer text has beyond is compared as one piece. */
const WORDS = 600;

/** Both texts cut into what they share and what they do not. */
export function wordDiff(left: string, right: string): [Piece[], Piece[]] {
  const [a, b] = [words(left), words(right)];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const [midA, midB] = [a.slice(start, a.length - end), b.slice(start, b.length - end)];
  const kept = common(midA, midB);
  const whole = (list: readonly string[], mid: readonly string[], keep: ReadonlySet<number>): Piece[] => {
    const pieces: Piece[] = [];
    const push = (text: string, same: boolean) => {
      const last = pieces.at(-1);
      if (last?.same === same) last.text += text;
      else pieces.push({ text, same });
    };
    for (const word of list.slice(0, start)) push(word, true);
    for (const [index, word] of mid.entries()) push(word, keep.has(index));
    for (const word of end === 0 ? [] : list.slice(-end)) push(word, true);
    return smooth(pieces);
  };
  return [whole(a, midA, kept[0]), whole(b, midB, kept[1])];
}

/** A blank or a comma that both happen to have between two differences does not help the eye. */
function smooth(pieces: readonly Piece[]): Piece[] {
  const smoothed: Piece[] = [];
  for (const [index, { text, same }] of pieces.entries()) {
    const between = same && index > 0 && index < pieces.length - 1 && !/[\p{L}\p{N}]/u.test(text) && text.length < 4;
    const last = smoothed.at(-1);
    if (last !== undefined && last.same === (same && !between)) last.text += text;
    else smoothed.push({ text, same: same && !between });
  }
  return smoothed;
}

const words = (text: string): string[] => {
  const all = text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
  return all.length <= WORDS ? all : [...all.slice(0, WORDS), all.slice(WORDS).join("")];
};

/** The indices of a longest common subsequence in both lists. */
function common(a: readonly string[], b: readonly string[]): [Set<number>, Set<number>] {
  const width = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      const [down, right] = [lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0];
      const diagonal = lengths[(i + 1) * width + j + 1] ?? 0;
      lengths[i * width + j] = a[i] === b[j] ? diagonal + 1 : Math.max(down, right);
    }
  }
  const [left, right] = [new Set<number>(), new Set<number>()];
  let [i, j] = [0, 0];
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      left.add(i++);
      right.add(j++);
    } else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return [left, right];
}
