/** The bound of a figure: its maximum, or its minimum. */
export type Bound = { most: number } | { least: number };

/** A bound with the measured value. */
export type Judged = Bound & { measured: number; met: boolean };

/** Returns figures with their bounds, each with whether it is met. A figure without a bound explains the others. */
export function judged<Figures extends object>(
  figures: Figures,
  bounds: Partial<Record<keyof Figures & string, Bound>>,
): { bounds: Record<string, Judged> } & Figures {
  const all = Object.entries(bounds as Record<string, Bound>).map(([name, bound]): [string, Judged] => {
    const measured = Number(figures[name as keyof Figures]);
    const met = 'most' in bound ? measured <= bound.most : measured >= bound.least;
    return [name, { ...bound, measured, met }];
  });
  return { ...figures, bounds: Object.fromEntries(all) };
}
