/** Waits until the condition is true, and throws after some seconds. */
export async function until(condition: () => boolean | Promise<boolean>, what: string, seconds = 10): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  while (!(await condition())) {
    if (Date.now() > deadline) throw new Error(`Waited ${seconds} seconds for: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
