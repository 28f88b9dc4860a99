import { requireKnown } from '../../src/define/options/option-checks.ts';
import { UsageError } from '../../src/core/domain/errors/error.ts';
import type { PriceTable } from '../../src/model/prices.ts';

/**
 * Returns the prices of a worker. Throws a UsageError that names the model for an invalid price: a limit in dollars
 * could not be enforced.
 */
export function checkPrices(prices: PriceTable): PriceTable {
  for (const [model, price] of Object.entries(prices)) {
    const owner = `the worker: "prices" of "${model}"`;
    if (!/^[^/]+\/./.test(model)) throw new UsageError(`the worker: "prices" has "${model}": write "provider/model"`);
    if (typeof price !== 'object' || price === null) {
      throw new UsageError(`${owner} are ${JSON.stringify(price)}: write {input, output, cachedInput} in US dollars per million tokens`);
    }
    requireKnown(owner, price, ['input', 'output', 'cachedInput']);
    const { input, output, cachedInput = input } = price;
    for (const [name, dollars] of Object.entries({ input, output, cachedInput })) {
      if (Number.isFinite(dollars) && dollars >= 0) continue;
      throw new UsageError(`${owner}: "${name}" is ${String(dollars)}: write US dollars per million tokens`);
    }
  }
  return prices;
}
