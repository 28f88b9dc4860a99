import { missingParts } from './version.ts';

/** The first pause before a part of the page that could not be loaded is asked for again, and the longest one, in milliseconds. */
const PAUSE = 2_000;
const LONGEST_PAUSE = 60_000;

/**
 * Loads a part of the page, again while the service does not answer: more and more rarely, because a service with another version has it no
 * more. Undefined once nobody wants it any more.
 */
export async function loadLazily<Module>(
  load: () => Promise<Module>,
  isGone: () => boolean,
  sleep: (ms: number) => Promise<void> = sleepFor,
): Promise<Module | undefined> {
  let isMissing = false;
  try {
    for (let pause = PAUSE; !isGone(); pause = Math.min(LONGEST_PAUSE, pause * 2)) {
      try {
        return await load();
      } catch {
        if (!isMissing) missingParts.value += 1;
        isMissing = true;
        await sleep(pause);
      }
    }
    return undefined;
  } finally {
    if (isMissing) missingParts.value -= 1;
  }
}

function sleepFor(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
