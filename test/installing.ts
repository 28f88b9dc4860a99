import { errorMessage } from '../src/core/domain/errors.ts';

/** What npm prints when a registry cannot be reached, or does not give a package: no defect of what is installed. */
const OF_THE_NETWORK = /ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN|ENOTCACHED|\bE40[134]\b|\bE5\d\d\b/;

/** Returns the line in which npm says why it cannot install. Throws the error again if it is not one of the network. */
export function networkReason(error: unknown): string {
  const printed = errorMessage(error);
  if (!OF_THE_NETWORK.test(printed)) throw error;
  return printed.split('\n').find((line) => line.includes('npm error code')) ?? printed.split('\n')[0] ?? '';
}
