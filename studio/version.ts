import { signal } from '@preact/signals';

/** True once the service seems to have another version than the page: what the page loads later may not be there any more. */
export const isOutdated = signal(false);
