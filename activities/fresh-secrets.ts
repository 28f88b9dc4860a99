import { errorCode } from '../src/core/domain/errors.ts';
import type { ModelCallContext, ModelClient, ModelRequest, ModelResponse } from '../src/core/domain/model.ts';
import type { ReadSecret } from '../src/define/resources.ts';
import { thrownCode } from './models/errors/error-rules.ts';
import { isRenewed } from './secret-vault.ts';

/**
 * Makes a request that reads secrets by `secret`. If it is refused because of its credentials, and the value of a secret that it read has
 * changed at its source, makes it once more, with the new value. `mayRepeat`: false once the request has had an effect.
 */
export async function withFreshSecrets<Value>(
  secret: ReadSecret | undefined,
  request: () => Promise<Value>,
  { mayRepeat = () => true }: { mayRepeat?: () => boolean } = {},
): Promise<Value> {
  try {
    return await request();
  } catch (error) {
    if ((errorCode(error) ?? thrownCode(error)) !== 'model_unauthorized' || !mayRepeat() || !(await isRenewed(secret))) throw error;
    return request();
  }
}

/** Calls a model, with fresh secrets if the provider refuses the cached ones. */
export async function callClient(client: ModelClient, request: ModelRequest, context: ModelCallContext): Promise<ModelResponse> {
  let isAnswering = false;
  const onDelta: ModelCallContext['onDelta'] =
    context.onDelta &&
    ((delta) => {
      isAnswering = true;
      context.onDelta?.(delta);
    });
  const listening = onDelta === undefined ? context : { ...context, onDelta };
  return withFreshSecrets(context.secret, () => client.call(request, listening), {
    mayRepeat: () => !isAnswering && !context.signal.aborted,
  });
}

/** Reads all items of a list that is read with secrets, with fresh ones if the first item is refused. */
export async function* itemsWithFreshSecrets<Item>(secret: ReadSecret | undefined, list: () => AsyncIterable<Item>): AsyncIterable<Item> {
  let begun = list()[Symbol.asyncIterator]();
  const first = await withFreshSecrets(secret, async () => {
    begun = list()[Symbol.asyncIterator]();
    return begun.next();
  });
  if (first.done === true) return;
  yield first.value;
  yield* { [Symbol.asyncIterator]: () => begun };
}
