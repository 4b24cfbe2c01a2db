// Short notices at the edge of the page; one may carry an action, such as taking back a deletion.

import { reason } from "./problems";

export interface Notice {
  id: number;
  text: string;
  kind: "plain" | "bad";
  action?: { label: string; run: () => void };
}

let next = 1;

class Notices {
  items = $state<Notice[]>([]);

  say(text: string, action?: Notice["action"], kind: Notice["kind"] = "plain", seconds = 6): number {
    const id = next++;
    const others = this.items.filter((each) => each.text !== text || each.action); // said once is enough
    this.items = [...others.slice(-3), { id, text, kind, action }];
    setTimeout(() => this.drop(id), seconds * 1000);
    return id;
  }

  fail(error: unknown): void {
    this.say(reason(error), undefined, "bad", 8);
  }

  drop(id: number): void {
    this.items = this.items.filter((each) => each.id !== id);
  }
}

export const notices = new Notices();

export { reason };
