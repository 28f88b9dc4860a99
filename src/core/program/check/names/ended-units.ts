import { type Outline, type OutlineUnit, textsAt } from '../outline.ts';

/** Tells which units have certainly ended before a unit begins. */
export class EndedUnits {
  /** True if the units run in their order, because none names its needs. */
  readonly inOrder: boolean;
  /** Units that each need the next one, and the last one the first. Empty if there is no cycle. */
  readonly cycle: readonly OutlineUnit[];
  readonly #needs: ReadonlyMap<OutlineUnit, readonly OutlineUnit[]>;
  /** By unit, one bit for each unit that ends before it. Units that wait for a cycle have none. */
  readonly #before = new Map<OutlineUnit, Uint32Array>();

  constructor({ units }: Outline) {
    const byName = new Map(units.toReversed().map((unit) => [unit.name, unit]));
    const needsOf = (unit: OutlineUnit): OutlineUnit[] => {
      const needs = textsAt(unit.value, 'needs').flatMap(({ text }) => byName.get(text) ?? []);
      return [...new Set(needs)].filter((need) => need !== unit);
    };
    this.inOrder = !units.some(({ value }) => 'needs' in value);
    this.#needs = new Map(units.map((unit) => [unit, needsOf(unit)]));
    this.#collect(units);
    this.cycle = this.#cycle(units.find((unit) => !this.#before.has(unit)));
  }

  /** True if `other` has ended when `unit` begins. Also true for units that never begin, because they wait for a cycle. */
  endsBefore(other: OutlineUnit, unit: OutlineUnit): boolean {
    if (this.inOrder) return other.index < unit.index;
    const before = this.#before.get(unit);
    return before === undefined || hasBit(before, other.index);
  }

  /** Goes through the units so that each comes after those that it needs. */
  #collect(units: readonly OutlineUnit[]): void {
    const waitingFor = new Map<OutlineUnit, OutlineUnit[]>(units.map((unit) => [unit, []]));
    const left = new Map(units.map((unit) => [unit, this.#needsOf(unit).length]));
    for (const unit of units) {
      for (const need of this.#needsOf(unit)) waitingFor.get(need)?.push(unit);
    }
    const ready = units.filter((unit) => left.get(unit) === 0);
    for (let unit = ready.pop(); unit !== undefined; unit = ready.pop()) {
      this.#before.set(unit, this.#endedBefore(unit, units.length));
      for (const waiting of waitingFor.get(unit) ?? []) {
        const count = (left.get(waiting) ?? 0) - 1;
        left.set(waiting, count);
        if (count === 0) ready.push(waiting);
      }
    }
  }

  #endedBefore(unit: OutlineUnit, count: number): Uint32Array {
    const before = new Uint32Array(Math.ceil(count / 32));
    for (const need of this.#needsOf(unit)) {
      setBit(before, need.index);
      for (const [index, word] of (this.#before.get(need) ?? []).entries()) before[index] = (before[index] ?? 0) | word;
    }
    return before;
  }

  /** Follows the needs of a unit that never begins until a unit comes again. */
  #cycle(start: OutlineUnit | undefined): OutlineUnit[] {
    const way = new Set<OutlineUnit>();
    for (let unit = start; unit !== undefined; unit = this.#needsOf(unit).find((need) => !this.#before.has(need))) {
      if (way.has(unit)) return [...way].slice([...way].indexOf(unit));
      way.add(unit);
    }
    return [];
  }

  #needsOf(unit: OutlineUnit): readonly OutlineUnit[] {
    return this.#needs.get(unit) ?? [];
  }
}

function setBit(bits: Uint32Array, index: number): void {
  const word = index >>> 5;
  bits[word] = (bits[word] ?? 0) | (1 << (index & 31));
}

function hasBit(bits: Uint32Array, index: number): boolean {
  return ((bits[index >>> 5] ?? 0) & (1 << (index & 31))) !== 0;
}
