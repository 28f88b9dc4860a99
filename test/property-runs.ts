/** Set by the projects of matrices: properties are tried with all their runs. */
export const PROPERTY_RUNS = 'PROPERTY_RUNS';

/**
 * The number of generated cases of a property: a quarter of `all`, which `npm test` tries, with other cases each time, or `all` with the
 * matrices, for the files that `PROPERTIES` of `test/matrices.ts` lists.
 */
export function propertyRuns(all: number, env: NodeJS.ProcessEnv = process.env): number {
  return env[PROPERTY_RUNS] === 'all' ? all : Math.ceil(all / 4);
}
