/** A map whose values are made when they are first used. */
export class LazyMap<Value extends object> {
  private readonly made = new Map<string, Value>()

  constructor(
    private readonly keys: { has(key: string): boolean; keys(): Iterable<string> },
    private readonly make: (key: string) => Value,
  ) {}

  has(key: string): boolean {
    return this.keys.has(key)
  }

  get(key: string): Value | undefined {
    let value = this.made.get(key)
    if (value === undefined && this.keys.has(key)) this.made.set(key, (value = this.make(key)))
    return value
  }

  /** Makes those that have not been used, too. */
  values(): Value[] {
    return [...this.keys.keys()].map(key => this.get(key) as Value)
  }
}
