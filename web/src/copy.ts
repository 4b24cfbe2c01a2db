import { notices } from "./notices.svelte";
import { t } from "./words.svelte";

export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    notices.say(t("copied"), undefined, "plain", 2);
  } catch (error) {
    notices.fail(error);
  }
}
