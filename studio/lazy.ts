/** The pause before a part of the page that could not be loaded is asked for again, in milliseconds. */
const PAUSE = 2_000;

/** Loads a part of the page, again while the service does not answer. Undefined once nobody wants it any more. */
export async function loadLazily<Module>(load: () => Promise<Module>, isGone: () => boolean): Promise<Module | undefined> {
  while (!isGone()) {
    try {
      return await load();
    } catch {
      await new Promise((resolve) => setTimeout(resolve, PAUSE));
    }
  }
  return undefined;
}
