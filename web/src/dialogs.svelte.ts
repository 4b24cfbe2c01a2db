// Which dialog is open; at most one is.

export type DialogName = "import" | "settings" | "shortcuts";

class Dialogs {
  open = $state<DialogName | null>(null);

  show(name: DialogName | null): void {
    this.open = name;
  }
}

export const dialogs = new Dialogs();
