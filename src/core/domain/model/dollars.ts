/** Formats an amount of US dollars: with two decimals if that is exact, and with more for the cost of single calls. */
export function dollars(amount: number): string {
  if (Number(amount.toFixed(2)) === amount) return `$${amount.toFixed(2)}`;
  return `$${amount.toFixed(amount < 0.001 ? 6 : 4)}`;
}
