/** An amount of US dollars: to the cent where that is all of it, and finer for what single calls cost. */
export function dollars(amount: number): string {
  if (Number(amount.toFixed(2)) === amount) return `$${amount.toFixed(2)}`;
  return `$${amount.toFixed(amount < 0.001 ? 6 : 4)}`;
}
