"""What an agent touches: the memory tool's six commands as file operations."""
