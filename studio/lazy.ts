import { missingParts } from './version.ts';
import { pause } from './pace.ts';

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
  sleep: (ms: number) => Promise<void> = pause,
): Promise<Module | undefined> {
  let isMissing = false;
  try {
    for (let pauseMs = PAUSE; !isGone(); pauseMs = Math.min(LONGEST_PAUSE, pauseMs * 2)) {
      try {
        return await load();
      } catch {
        if (!isMissing) missingParts.value += 1;
        isMissing = true;
        await sleep(pauseMs);
      }
    }
    return undefined;
  } finally {
    if (isMissing) missingParts.value -= 1;
  }
}
