import { signal } from '@preact/signals';

/** True once the service seems to have another version than the page: what the page loads later may not be there any more. */
export const isOutdated = signal(false);

/** The number of parts of the page that could not be loaded, and are asked for again: the service may have another version, too. */
export const missingParts = signal(0);
