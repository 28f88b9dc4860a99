/**
 * Returns a response with a line of JSON for each item, as the reader takes them. The first item is read before: an error becomes a
 * problem. A later one cuts the body off, so that it is not taken for a whole one.
 */
export async function ndjsonResponse(items: AsyncGenerator<unknown>): Promise<Response> {
  const encoder = new TextEncoder();
  let next = await items.next();
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (next.done) return controller.close();
        controller.enqueue(encoder.encode(`${JSON.stringify(next.value)}\n`));
        next = await items.next();
      },
      async cancel() {
        await items.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { status: 200, headers: { 'content-type': 'application/x-ndjson' } });
}
