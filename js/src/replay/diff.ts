// A word-by-word diff of two texts.

/** A difference: the part of the first text from `start` to `end`, and the part of the second that replaces it. */
export interface Hunk {
  first: string;
  second: string;
  start: number;
  end: number;
  secondStart: number;
  secondEnd: number;
}

/** A part of a text that is in both (`same`) or only in this one. */
export interface Piece {
  text: string;
  same: boolean;
}

/** Maximum number of differing words compared one by one; longer differences are one hunk. */
const WORDS = 1200;

interface Word {
  word: string;
  start: number;
  end: number;
}

/** Matches words separated by white space. */
export const BLANK: RegExp = /\S+/gu;
/** Matches words, punctuation characters and white space, each separately. */
export const FINE: RegExp = /[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu;

/** The differences of two texts. */
export function hunks(first: string, second: string, cut: RegExp = BLANK): Hunk[] {
  const [a, b] = [words(first, cut), words(second, cut)];
  let head = 0;
  while (head < a.length && head < b.length && a[head]?.word === b[head]?.word) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail)?.word === b.at(-1 - tail)?.word) tail++;
  const [restA, restB] = [a.slice(head, a.length - tail), b.slice(head, b.length - tail)];
  if (restA.length === 0 && restB.length === 0) return [];
  // An empty part is located where it would have been.
  const span = (all: Word[], rest: Word[], from: number, to: number, length: number): [number, number] => {
    const start = rest[from]?.start ?? all[head + from]?.start ?? length;
    return [start, to > from ? (rest[to - 1]?.end ?? length) : start];
  };
  const hunk = (fromA: number, toA: number, fromB: number, toB: number): Hunk => {
    const [start, end] = span(a, restA, fromA, toA, first.length);
    const [secondStart, secondEnd] = span(b, restB, fromB, toB, second.length);
    return {
      first: first.slice(start, end),
      second: second.slice(secondStart, secondEnd),
      start,
      end,
      secondStart,
      secondEnd,
    };
  };
  if (restA.length > WORDS || restB.length > WORDS) return [hunk(0, restA.length, 0, restB.length)];
  // The longest common subsequence, computed from the end so that it can be walked from the start.
  const width = restB.length + 1;
  const common = new Uint16Array((restA.length + 1) * width);
  for (let i = restA.length - 1; i >= 0; i--)
    for (let j = restB.length - 1; j >= 0; j--)
      common[i * width + j] =
        restA[i]?.word === restB[j]?.word
          ? (common[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(common[(i + 1) * width + j] ?? 0, common[i * width + j + 1] ?? 0);
  const found: Hunk[] = [];
  let [i, j, fromA, fromB] = [0, 0, 0, 0];
  const flush = () => {
    if (i > fromA || j > fromB) found.push(hunk(fromA, i, fromB, j));
  };
  while (i < restA.length && j < restB.length) {
    if (restA[i]?.word === restB[j]?.word) {
      flush();
      [i, j] = [i + 1, j + 1];
      [fromA, fromB] = [i, j];
    } else if ((common[(i + 1) * width + j] ?? 0) >= (common[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  [i, j] = [restA.length, restB.length];
  flush();
  return found;
}

/** Whether two texts differ only in white space. */
export function onlySpace(left: string, right: string): boolean {
  const bare = (text: string) => text.replaceAll(/\s+/g, "");
  return left !== right && bare(left) === bare(right);
}

/** Splits both texts into shared and differing parts. */
export function pieces(left: string, right: string): [Piece[], Piece[]] {
  const found = hunks(left, right, FINE);
  const whole = (text: string, spans: [number, number][]): Piece[] => {
    const list: Piece[] = [];
    const push = (part: string, same: boolean) => {
      if (part !== "") list.push({ text: part, same });
    };
    let at = 0;
    for (const [start, end] of spans) {
      push(text.slice(at, start), true);
      push(text.slice(start, end), false);
      at = end;
    }
    push(text.slice(at), true);
    return smooth(list);
  };
  return [
    whole(
      left,
      found.map(({ start, end }) => [start, end]),
    ),
    whole(
      right,
      found.map(({ secondStart, secondEnd }) => [secondStart, secondEnd]),
    ),
  ];
}

/** Merges short punctuation or space between two differences into them, for readability. */
function smooth(list: readonly Piece[]): Piece[] {
  const smoothed: Piece[] = [];
  for (const [index, { text, same }] of list.entries()) {
    const between = same && index > 0 && index < list.length - 1 && !/[\p{L}\p{N}]/u.test(text) && text.length < 4;
    const last = smoothed.at(-1);
    if (last !== undefined && last.same === (same && !between)) last.text += text;
    else smoothed.push({ text, same: same && !between });
  }
  return smoothed;
}

function words(text: string, cut: RegExp): Word[] {
  return [...text.matchAll(cut)].map(({ 0: word, index }) => ({ word, start: index, end: index + word.length }));
}
