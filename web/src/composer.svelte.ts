// What is being written. A question that is edited comes back here; answering it makes a new turn.

class Composer {
  text = $state("");
  editing = $state(false);
  field: HTMLTextAreaElement | null = null;

  edit(query: string): void {
    this.text = query;
    this.editing = true;
    this.focus();
  }

  clear(): void {
    this.text = "";
    this.editing = false;
  }

  focus(): void {
    this.field?.focus();
  }
}

export const composer = new Composer();
