/** The heights of many rows, most of which have the same one. The others were measured. Every question takes a logarithm of their number. */
export class RowHeights {
  readonly usual: number;
  readonly #measured = new Map<number, number>();
  /** A Fenwick tree: in each place, what the rows of a range are higher than usual, in total. */
  #sums = new Float64Array(1);

  constructor(usual: number) {
    this.usual = usual;
  }

  /** Takes the height of a row. Returns true if that is another one than before. A row that is not on the screen has none. */
  set(index: number, height: number): boolean {
    const before = this.#measured.get(index) ?? this.usual;
    if (height <= 0 || height === before) return false;
    this.#measured.set(index, height);
    if (index + 1 >= this.#sums.length) this.#grow(index + 1);
    else this.#add(index, height - before);
    return true;
  }

  /** Returns the distance of a row from the top. */
  topOf(index: number): number {
    let top = index * this.usual;
    for (let place = Math.min(index, this.#sums.length - 1); place > 0; place -= place & -place) top += this.#sums[place] ?? 0;
    return top;
  }

  /** Returns the row at a distance from the top, of so many rows. */
  indexAt(top: number, count: number): number {
    let [low, high] = [0, Math.max(0, count - 1)];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.topOf(middle) <= top) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  #add(index: number, more: number): void {
    for (let place = index + 1; place < this.#sums.length; place += place & -place) this.#sums[place] = (this.#sums[place] ?? 0) + more;
  }

  #grow(least: number): void {
    this.#sums = new Float64Array(2 * least + 1);
    for (const [index, height] of this.#measured) this.#add(index, height - this.usual);
  }
}
